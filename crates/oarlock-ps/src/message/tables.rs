//! What a server can be asked for rows of. The question has no contents.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Which of the servers answers; none if its program does not say.
    pub(crate) server: Option<u32>,
    /// How many servers the job has; 0 if the program does not say.
    pub(crate) servers: u32,
    pub(crate) tables: Vec<Served>,
}

/// A table, or some rows of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// What it is called on the server.
    pub(crate) name: String,
    /// Elements of a row.
    pub(crate) width: u64,
    /// How many rows it has; of a hashed table, how many it may get.
    pub(crate) rows: u64,
    /// Rows are spread over the servers by id.
    pub(crate) hashed: bool,
}

impl Tables {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u32(self.server.unwrap_or(u32::MAX));
        meta.u32(self.servers);
        meta.list(&self.tables, |meta, table| {
            meta.str(&table.name);
            meta.u64(table.width);
            meta.u64(table.rows);
            meta.bool(table.hashed);
        });
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Tables> {
        let server = Some(meta.u32()?).filter(|server| *server != u32::MAX);
        let servers = meta.u32()?;
        let tables = meta.list(|meta| {
            let name = meta.str()?.to_string();
            Ok(Served { name, width: meta.u64()?, rows: meta.u64()?, hashed: meta.bool()? })
        })?;
        Ok(Tables { server, servers, tables })
    }
}
