//! A trainer lets a server take a snapshot of its variables and tables, and write it to a checkpoint while training goes on.
//!
//! Sent again with `wait`, a server replies when the snapshot is written, or after some seconds.
//!
//! Reply: `done` (10) when it is written, `awaited` (13) of no trainer until then.

use oarlock_ir::Result;
use oarlock_transpile::VarLocations;

use super::all_gather::Awaited;
use crate::client::Client;
use crate::protocol::{Message, Sender, message, reply, request};
use crate::server::Call;

request! { kind: 14, sender: Sender::ActiveTrainer, profile: "serve checkpoint" }

message! {
    /// The variables to save, and where.
    pub(crate) struct Snapshot {
        /// The folder of all checkpoints: a path or a URL, as the server sees it.
        pub(crate) dir: String,
        /// The number of the checkpoint.
        pub(crate) number: u64,
        /// The server's own number, which names its folder.
        pub(crate) server: u32,
        /// Wait until it is written, for some seconds.
        pub(crate) wait: bool,
        /// The server's variables.
        pub(crate) names: Vec<String>,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    call.check_may_write_files()?;
    let snapshot = Snapshot::read(call.frame)?;
    if !call.shared.snapshot(&snapshot)? {
        call.reply.set(reply::AWAITED, &Awaited { trainers: Vec::new() });
    }
    Ok(())
}

/// A snapshot of all servers.
#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    /// The folder of all checkpoints, as the servers see it.
    pub dir: String,
    /// The number of the checkpoint.
    pub number: u64,
    /// The servers.
    pub servers: Vec<String>,
    /// The variables that they have.
    pub variables: Vec<VarLocations>,
}

impl Client {
    /// Lets every server take a snapshot; they write it while training goes on.
    pub fn begin_snapshot(&self, trainer: u32, request: &SnapshotRequest) -> Result<()> {
        (0..request.servers.len()).try_for_each(|server| self.ask_snapshot(trainer, request, server, false).map(drop))
    }

    /// Waits until every server has written a snapshot.
    pub fn finish_snapshot(&self, trainer: u32, request: &SnapshotRequest) -> Result<()> {
        for server in 0..request.servers.len() {
            while !self.ask_snapshot(trainer, request, server, true)? {
                self.options.check_interrupted()?;
            }
        }
        Ok(())
    }

    fn ask_snapshot(&self, trainer: u32, request: &SnapshotRequest, server: usize, wait: bool) -> Result<bool> {
        let parts = request.variables.iter().flat_map(|variable| &variable.parts).filter(|part| part.server == server);
        let names = parts.map(|part| part.name.to_string()).collect();
        let (dir, number) = (request.dir.clone(), request.number);
        let message = Snapshot { dir, number, server: server as u32, wait, names };
        let about = || format!("checkpoint {number}");
        let kind = self.ask(trainer, &request.servers[server], &REQUEST, &message, &about, |reply| Ok(reply.kind()))?;
        Ok(kind == reply::DONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{Sample, names};
    use crate::server::Policy;
    use crate::server::testing::{Folder, TABLE, TestServer};

    pub(super) fn samples() -> Vec<Sample> {
        let snapshot = Snapshot { dir: "/ckpt".into(), number: 3, server: 1, wait: true, names: names() };
        vec![Sample::of("snapshot", REQUEST.kind, &snapshot)]
    }

    #[test]
    fn snapshot_has_all_variables_and_rows_of_the_server() {
        let (server, folder) = (TestServer::start(1, Policy::Fail), Folder::new("snapshot"));
        let client = server.join(0);
        server.look_up(&client, 0, &[3, 8], false);
        let (dir, variables) = (folder.path().to_string(), server.variables.clone());
        let request = SnapshotRequest { dir, number: 4, servers: server.list(), variables };
        client.begin_snapshot(0, &request).unwrap();
        client.finish_snapshot(0, &request).unwrap();
        let root = oarlock_io::open_store(folder.path()).unwrap();
        let files = crate::checkpoint::server_folder(&*root, 4, 0).unwrap().view().unwrap().files().unwrap();
        for part in server.variables.iter().flat_map(|variable| &variable.parts) {
            let stem = format!("{}.part-", part.name);
            assert!(files.iter().any(|f| *f == *part.name || f.starts_with(&stem)), "{} in {files:?}", part.name);
        }
        assert!(files.iter().any(|f| f.starts_with(TABLE)), "{files:?}");
    }
}
