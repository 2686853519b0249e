//! Looks whether a planned job can work before it starts, and says what to change.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use oarlock_ir::{Error, Kind};

use super::cluster::{Cluster, Role, split};
use super::plan::{Ask, Plan};
use super::rendezvous::{Rendezvous, gather_nodes};
use super::{host, supervise};

/// The result of one check.
#[derive(Debug, Clone)]
pub enum Finding {
    /// It is as it should be.
    Good(String),
    /// It cannot be checked from here.
    Unknown(String),
    /// The job would fail: why, and what to do.
    Bad(Error),
}

impl Finding {
    /// Whether the job would fail.
    pub fn is_bad(&self) -> bool {
        matches!(self, Finding::Bad(_))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Good(text) => write!(f, "ok    {text}"),
            Finding::Unknown(text) => write!(f, "?     {text}"),
            Finding::Bad(error) => {
                let report = error.report();
                write!(f, "bad   {}", report.what)?;
                report.notes.iter().try_for_each(|note| write!(f, "\n      {note}"))?;
                report.help.iter().try_for_each(|help| write!(f, "\n      help: {help}"))
            }
        }
    }
}

/// Checks addresses and ports of a plan, the memory for its servers (bytes that each of them needs, if that is known), and the
/// version of the package that `python` would use.
pub fn check(plan: &Plan, memory: &[u64], python: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(first) = plan.ranks.first() {
        findings.extend(hosts(first));
    }
    findings.extend(plan.ranks.iter().filter_map(port));
    findings.extend(memory_of_servers(plan, memory));
    findings.push(version(python));
    findings
}

/// Compares the release of Oarlock and the program (a digest; empty if there is none) with those of the other hosts of a plan, if it has
/// some: `oarlock doctor` on each of them connects to this one within `patience`, where the first process of the job will listen. It runs
/// before the ports are checked, one of which is used here.
pub fn compare_hosts(plan: &Plan, program: &str, patience: Option<Duration>) -> Option<Finding> {
    let cluster = plan.ranks.first()?;
    let nodes = names(cluster).len();
    let master = cluster.servers.iter().chain(&cluster.worker_endpoints).next()?.clone();
    if nodes < 2 {
        return None;
    }
    let Some(patience) = patience else {
        let text = format!("versions and programs of the {nodes} hosts are not compared");
        return Some(Finding::Unknown(format!("{text}: add `--wait 60` and run this on all of them at a time")));
    };
    let rendezvous = Rendezvous { master, nodes, patience, program: program.to_string(), ..Rendezvous::default() };
    let met = gather_nodes(Ask::default(), &rendezvous);
    let_go(&rendezvous.master);
    Some(match met {
        Ok(_) => {
            let same = if program.is_empty() { "" } else { " and the same program" };
            Finding::Good(format!("all {nodes} hosts have Oarlock {}{same}", env!("CARGO_PKG_VERSION")))
        }
        Err(error) => Finding::Bad(error),
    })
}

/// Several hosts may be one machine. Then another process may have listened for all of them, and let go of the port a moment after this one
/// has met it: without a pause, the port would be found taken.
fn let_go(endpoint: &str) {
    let is_here = host::addresses().is_ok_and(|own| host::is_here(split(endpoint).0, &own));
    for _ in 0..100 {
        if !is_here || host::cannot_listen(endpoint).is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The hosts of a job.
fn names(cluster: &Cluster) -> Vec<&str> {
    let mut hosts: Vec<&str> = cluster.servers.iter().chain(&cluster.worker_endpoints).map(|e| split(e).0).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// Whether each host of the job has an address.
fn hosts(cluster: &Cluster) -> Vec<Finding> {
    let own = host::addresses().unwrap_or_default();
    let look = |name: &str| match host::resolve(name) {
        Ok(found) if !found.is_empty() => match host::is_here(name, &own) {
            true => Finding::Good(format!("host {name} is this machine")),
            false => Finding::Unknown(format!("host {name} is {}; run `oarlock doctor` there, too", found[0])),
        },
        found => {
            let why = found.err().map_or("it has no address".to_string(), |e| e.to_string());
            Finding::Bad(
                Error::new(Kind::Network, format!("host {name} cannot be found: {why}"))
                    .help("check the name; it must be known on this machine (try `getent hosts NAME`)"),
            )
        }
    };
    names(cluster).into_iter().map(look).collect()
}

/// Whether a process of this host can listen where it is to.
fn port(rank: &Cluster) -> Option<Finding> {
    let endpoint = supervise::listens_on(rank)?;
    Some(match host::cannot_listen(endpoint) {
        None => Finding::Good(format!("{} can listen on {endpoint}", rank.role)),
        Some(error) => Finding::Bad(error.note(format!("{} is to listen there", rank.role))),
    })
}

fn memory_of_servers(plan: &Plan, memory: &[u64]) -> Option<Finding> {
    let of_rank = |rank: &Cluster| match rank.role {
        Role::Server(index) => memory.get(index).copied(),
        Role::Worker(_) => None,
    };
    let needed: u64 = plan.ranks.iter().filter_map(of_rank).sum();
    let has = available_memory();
    Some(match has {
        _ if needed == 0 => return None,
        None => Finding::Unknown(format!("the servers of this host need {} for parameters", size(needed))),
        Some(has) if needed <= has => Finding::Good(format!(
            "the servers of this host need {} for parameters; {} are free",
            size(needed),
            size(has)
        )),
        Some(has) => Finding::Bad(
            Error::new(
                Kind::Argument,
                format!("the servers of this host need {} for parameters, but {} are free", size(needed), size(has)),
            )
            .help("spread the servers over more hosts, or make tables smaller"),
        ),
    })
}

/// Bytes that processes can still use.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// Whether scripts would use the version that this launcher is of.
fn version(python: &str) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    let output = Command::new(python).args(["-c", "import oarlock; print(oarlock.__version__)"]).output();
    match output {
        Err(e) => Finding::Unknown(format!("{python} cannot be started ({e}): Python scripts would not run")),
        Ok(output) if !output.status.success() => {
            Finding::Unknown(format!("{python} has no package oarlock: Python scripts that need it would not run"))
        }
        Ok(output) => match String::from_utf8_lossy(&output.stdout).trim() {
            same if same == own => Finding::Good(format!("oarlock {own}, and {python} has the same")),
            other => Finding::Bad(
                Error::new(Kind::Argument, format!("this is oarlock {own}, but {python} has oarlock {other}"))
                    .help("install one version on all hosts of the job"),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, plan};

    #[test]
    fn a_plan_that_cannot_work_is_found_out() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let servers = vec![taken.local_addr().unwrap().to_string(), "no-such-host.invalid:1".to_string()];
        let workers = vec!["127.0.0.1".to_string()];
        let plan = plan(&Ask { servers, workers, ..Ask::default() }).unwrap();
        let findings = check(&plan, &[u64::MAX, 0], "no-such-python");
        let text: Vec<String> = findings.iter().map(Finding::to_string).collect();
        let text = text.join("\n");
        for part in [
            "ok    host 127.0.0.1 is this machine",
            "bad   host no-such-host.invalid cannot be found",
            "another process has this port",
            "server 0 is to listen there",
            "need 17179869184.0 GiB for parameters, but",
            "?     no-such-python cannot be started",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(findings.iter().filter(|finding| finding.is_bad()).count(), 3);
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!([size(5), size(2048), size(3 << 20), size(5 << 30)], ["5 bytes", "2.0 KiB", "3.0 MiB", "5.0 GiB"]);
    }
}
