//! A reader asks which tables a server has.
//!
//! Reply: `tables` (19) with the server's number and its tables.

use oarlock_ir::Result;

use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;

request! { kind: 19, sender: Sender::Anyone }

/// The number of a server whose program does not tell it.
const UNKNOWN_SERVER: u32 = u32::MAX;

message! {
    /// The reply.
    pub(crate) struct Tables {
        /// The number of the server that replies.
        server: u32,
        /// How many servers the job has; 0 if the program does not tell.
        pub(crate) servers: u32,
        pub(crate) tables: Vec<ServedTable>,
    }
}

message! {
    /// A table, or some rows of one.
    pub(crate) struct ServedTable {
        /// Its name on the server.
        pub(crate) name: String,
        /// Elements of a row.
        pub(crate) width: u64,
        /// How many rows it has; of a hashed table, how many it may get.
        pub(crate) rows: u64,
        /// Rows are hashed over the servers.
        pub(crate) hashed: bool,
    }
}

impl Tables {
    pub(crate) fn new(server: Option<u32>, servers: u32, tables: Vec<ServedTable>) -> Tables {
        Tables { server: server.unwrap_or(UNKNOWN_SERVER), servers, tables }
    }

    /// The number of the server, if its program tells it.
    pub(crate) fn server(&self) -> Option<u32> {
        Some(self.server).filter(|server| *server != UNKNOWN_SERVER)
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    <()>::read(call.frame)?;
    call.reply.set(REQUEST.kind, &call.shared.updates.served_tables());
    Ok(())
}

impl Client {
    pub(crate) fn tables_of(&self, server: &str) -> Result<Tables> {
        let about = || "the list of its tables".to_string();
        self.ask(0, server, &REQUEST, &(), &about, Tables::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;

    pub(super) fn samples() -> Vec<Sample> {
        let table = ServedTable { name: "emb".into(), width: 8, rows: 100, hashed: true };
        let unnumbered = "tables of a server without a number";
        vec![
            Sample::of("tables", REQUEST.kind, &()),
            Sample::of("tables served", REQUEST.kind, &Tables::new(Some(1), 2, vec![table])),
            Sample::of(unnumbered, REQUEST.kind, &Tables::new(None, 0, Vec::new())),
        ]
    }

    #[test]
    fn server_without_a_number_has_none() {
        assert_eq!(Tables::new(None, 0, Vec::new()).server(), None);
        assert_eq!(Tables::new(Some(1), 2, Vec::new()).server(), Some(1));
    }
}
