//! The description of a rank that the coordinator compares and sends to all: version, settings, program, machine.

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};

use super::Id;

/// The description that a rank sends of itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RankInfo {
    pub(super) rank: usize,
    pub(super) version: String,
    pub(super) endpoints: Vec<String>,
    /// The settings that must be the same on all ranks, as text.
    pub(super) settings: String,
    pub(super) program: Vec<String>,
    pub(super) host: String,
    pub(super) process: u32,
    /// The file descriptor of the shared memory that it offers, and the mark written into that memory.
    pub(super) file: i32,
    pub(super) mark: Id,
}

impl RankInfo {
    pub(super) fn encode(&self, to: &mut Writer) {
        to.u32(self.rank as u32).str(&self.version).list(&self.endpoints, |to, endpoint| {
            to.str(endpoint);
        });
        to.str(&self.settings).list(&self.program, |to, line| {
            to.str(line);
        });
        to.str(&self.host).u32(self.process).i64(self.file.into()).bytes(&self.mark);
    }

    pub(super) fn decode(from: &mut Reader<'_>) -> Result<RankInfo> {
        let text = |from: &mut Reader<'_>| from.str().map(str::to_owned);
        Ok(RankInfo {
            rank: from.u32()? as usize,
            version: text(from)?,
            endpoints: from.list(text)?,
            settings: text(from)?,
            program: from.list(text)?,
            host: text(from)?,
            process: from.u32()?,
            file: from.i64()? as i32,
            mark: from.bytes()?.try_into().map_err(|_| Error::new(Kind::Format, "a mark has 16 bytes"))?,
        })
    }
}

/// The reason why a rank cannot work with the first, if there is one.
pub(super) fn differs(first: &RankInfo, other: &RankInfo) -> Option<Error> {
    let rank = other.rank;
    let wrong = |what: String, help: &str| Some(Error::new(Kind::Argument, what).help(help));
    if other.version != first.version {
        let what = format!("rank {rank} runs Oarlock {}, rank 0 runs {}", other.version, first.version);
        return wrong(what, "install the same version everywhere");
    }
    if other.endpoints != first.endpoints {
        let (theirs, ours) = (other.endpoints.join(","), first.endpoints.join(","));
        let what = format!("rank {rank} has the workers {theirs}, rank 0 has {ours}");
        return wrong(what, "give all processes the same list (PADDLE_TRAINER_ENDPOINTS)");
    }
    if other.settings != first.settings {
        let what = format!("rank {rank} has {}, rank 0 has {}", other.settings, first.settings);
        return wrong(what, "give all processes the same settings");
    }
    programs_differ(&first.program, rank, &other.program)
}

/// The first line in which the program of a worker differs from that of rank 0.
pub(crate) fn programs_differ(first: &[String], rank: usize, other: &[String]) -> Option<Error> {
    let line = |program: &[String], i: usize| program.get(i).map_or("nothing more", String::as_str).to_owned();
    let at = (0..first.len().max(other.len())).find(|i| first.get(*i) != other.get(*i))?;
    let what =
        format!("the programs differ: rank {rank} has {}, where rank 0 has {}", line(other, at), line(first, at));
    Some(
        Error::new(Kind::Argument, what).help("all workers must build the same network, with the same names and sizes"),
    )
}

/// The ranks of each machine, in the order of their first.
pub(super) fn hosts(table: &[RankInfo]) -> Vec<Vec<usize>> {
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for info in table {
        match hosts.iter_mut().find(|(name, _)| *name == info.host) {
            Some((_, ranks)) => ranks.push(info.rank),
            None => hosts.push((&info.host, vec![info.rank])),
        }
    }
    hosts.into_iter().map(|(_, ranks)| ranks).collect()
}

/// A name that processes share only if they can open each other's files: the boot of the machine and the PID namespace.
pub(super) fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    match boot.trim() {
        "" => format!("process {}", std::process::id()),
        boot => format!("{boot} {}", space.display()),
    }
}

pub(super) fn write_process(to: &mut Writer, (rank, process): &(usize, usize)) {
    to.u32(*rank as u32).u32(*process as u32);
}

pub(super) fn read_process(from: &mut Reader<'_>) -> Result<(usize, usize)> {
    Ok((from.u32()? as usize, from.u32()? as usize))
}
