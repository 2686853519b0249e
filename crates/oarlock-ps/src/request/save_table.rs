//! A trainer lets a server save its rows of one table to one file (`checkpoint_notify`).
//!
//! Reply: `done` (10), when the file is complete.

use oarlock_ir::Result;

use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;

request! { kind: 16, sender: Sender::ActiveTrainer }

message! {
    /// The table, and where to save it.
    pub(crate) struct SaveTable {
        /// The folder: a path or a URL, as the server sees it.
        pub(crate) dir: String,
        /// The file in it.
        pub(crate) file: String,
        pub(crate) table: String,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    call.check_may_write_files()?;
    call.shared.save_table(&SaveTable::read(call.frame)?)
}

impl Client {
    /// Lets every server save its rows of a table, each to a file of its own.
    pub(crate) fn save_table(&self, trainer: u32, servers: &[String], dir: &str, table: &str) -> Result<()> {
        let about = || format!("a save of `{table}`");
        for (server, endpoint) in servers.iter().enumerate() {
            let file = format!("__lookup_table__/{table}_{server}");
            let message = SaveTable { dir: dir.to_string(), file, table: table.to_string() };
            self.ask(trainer, endpoint, &REQUEST, &message, &about, |_| Ok(()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::{Folder, TABLE, TestServer};

    pub(super) fn samples() -> Vec<Sample> {
        let save = SaveTable { dir: "/tables".into(), file: "emb_0".into(), table: "emb".into() };
        vec![Sample::of("save table", REQUEST.kind, &save)]
    }

    #[test]
    fn server_writes_its_rows_to_the_file_that_is_named() {
        let (server, folder) = (TestServer::start(1, Policy::Fail), Folder::new("save-table"));
        let client = server.join(0);
        server.look_up(&client, 0, &[3, 8], false);
        client.save_table(0, &server.list(), folder.path(), TABLE).unwrap();
        let file = std::path::Path::new(folder.path()).join(format!("__lookup_table__/{TABLE}_0"));
        assert!(file.metadata().unwrap().len() > 0);
        let error = client.save_table(0, &server.list(), folder.path(), "unknown").unwrap_err();
        assert!(error.report().what.contains("has no table `unknown`"), "{error}");
    }
}
