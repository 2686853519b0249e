//! Checkpoints of a job, as a trainer asks for them.

use oarlock_ir::{Error, Kind, Result};

use super::{Client, Request};
use crate::checkpoint::as_tensor;
use crate::message::{Cut, Notes, SaveTable, kind};
use oarlock_net::codec::{Reader, Writer};
use oarlock_transpile::Kept;

/// A checkpoint that servers take.
#[derive(Debug, Clone)]
pub struct CutRequest {
    /// The folder of all checkpoints, as the servers see it.
    pub dir: String,
    /// Which checkpoint.
    pub number: u64,
    /// The servers.
    pub servers: Vec<String>,
    /// What they keep.
    pub kept: Vec<Kept>,
}

impl Client {
    /// Lets every server take a cut; they write it while training goes on.
    pub fn begin_cut(&self, trainer: u32, request: &CutRequest) -> Result<()> {
        request
            .servers
            .iter()
            .enumerate()
            .try_for_each(|(server, _)| self.ask_cut(trainer, request, server, false).map(drop))
    }

    /// Waits until every server has saved a cut.
    pub fn finish_cut(&self, trainer: u32, request: &CutRequest) -> Result<()> {
        for server in 0..request.servers.len() {
            while !self.ask_cut(trainer, request, server, true)? {
                self.options.check_interrupted()?;
            }
        }
        Ok(())
    }

    fn ask_cut(&self, trainer: u32, request: &CutRequest, server: usize, wait: bool) -> Result<bool> {
        let endpoint = &request.servers[server];
        let parts = request.kept.iter().flat_map(|kept| &kept.parts).filter(|part| part.server == server);
        let names = parts.map(|part| part.name.to_string()).collect();
        let cut = Cut { dir: request.dir.clone(), number: request.number, server: server as u32, wait, names };
        let mut meta = Writer::new();
        cut.encode(&mut meta);
        let about = || format!("checkpoint {}", request.number);
        let reply = self.ask_one(
            trainer,
            endpoint,
            &Request { kind: kind::CUT, meta: meta.as_bytes(), sections: &[], about: &about },
            |reply| Ok(reply.kind()),
        )?;
        Ok(reply == kind::DONE)
    }

    /// Lets every server save its rows of a table, each to a file of its own.
    pub(crate) fn save_table(&self, trainer: u32, servers: &[String], dir: &str, table: &str) -> Result<()> {
        for (server, endpoint) in servers.iter().enumerate() {
            let file = format!("__lookup_table__/{table}_{server}");
            let mut meta = Writer::new();
            SaveTable { dir: dir.to_string(), file, table: table.to_string() }.encode(&mut meta);
            let about = || format!("a save of `{table}`");
            let request = Request { kind: kind::SAVE_TABLE, meta: meta.as_bytes(), sections: &[], about: &about };
            self.ask_one(trainer, endpoint, &request, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Leaves a note of where this trainer stands; returns the latest notes of all trainers, empty for those who left none.
    pub fn leave_note(&self, trainer: u32, server: &str, note: &[u8], trainers: usize) -> Result<Vec<Vec<u8>>> {
        let about = || "notes of all trainers".to_string();
        let request = Request { kind: kind::NOTE, meta: &[], sections: &[note], about: &about };
        self.ask_one(trainer, server, &request, |reply| {
            let notes = Notes::decode(&mut Reader::new(reply.meta(), "notes"))?;
            let mut all = vec![Vec::new(); trainers];
            for (at, of) in notes.trainers.iter().enumerate() {
                let (Some(to), Some(bytes)) = (all.get_mut(*of as usize), reply.section(at)) else {
                    return Err(Error::new(Kind::Format, "a note is of nobody"));
                };
                *to = bytes.to_vec();
            }
            Ok(all)
        })
    }

    /// What every trainer brings to a meeting, as bytes; see [`Client::meet`].
    pub fn meet_with(&self, trainer: u32, servers: &[String], purpose: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all = self.meet(trainer, servers, purpose, &as_tensor(bytes))?;
        Ok(all.iter().map(|tensor| tensor.bytes().to_vec()).collect())
    }
}
