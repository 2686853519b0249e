//! A question for the rows of a table, some shards at a time: for saving it without room for all of it. The reply brings the rows
//! as values behind the number of the shard to go on with.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// Which rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowsOf {
    /// The table, or a state of its optimizer.
    pub(crate) name: String,
    /// The first shard.
    pub(crate) from: u32,
    /// No further shard is added to so many bytes.
    pub(crate) enough: u64,
}

impl RowsOf {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.str(&self.name);
        meta.u32(self.from);
        meta.u64(self.enough);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<RowsOf> {
        Ok(RowsOf { name: meta.str()?.to_string(), from: meta.u32()?, enough: meta.u64()? })
    }
}
