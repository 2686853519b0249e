//! A server saves its rows of one table to one file (`checkpoint_notify`). Answered when the file is there.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// What to save, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaveTable {
    /// The folder: a path or a URL, as the server sees it.
    pub(crate) dir: String,
    /// The file in it.
    pub(crate) file: String,
    pub(crate) table: String,
}

impl SaveTable {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.str(&self.dir);
        meta.str(&self.file);
        meta.str(&self.table);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<SaveTable> {
        Ok(SaveTable { dir: meta.str()?.to_string(), file: meta.str()?.to_string(), table: meta.str()?.to_string() })
    }
}
