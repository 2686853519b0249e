//! A question for rows of tables. The ids of each table are a section, the reply brings the rows in the same order; it says how many
//! rows each table has at the server.

use oarlock_ir::Result;

use super::push::{decode_names, encode_names};
use oarlock_net::Floats;
use oarlock_net::codec::{Reader, Writer};

/// What stands before the ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// As [`Pull::after_step`](super::Pull).
    pub(crate) after_step: u64,
    /// Rows that do not exist are zero and are not made: evaluation changes nothing.
    pub(crate) read_only: bool,
    /// How the reply is to write the rows.
    pub(crate) floats: Floats,
    /// The tables; section k holds the ids for the k-th.
    pub(crate) tables: Vec<String>,
}

impl Lookup {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.after_step);
        meta.bool(self.read_only);
        self.floats.write(meta);
        encode_names(&self.tables, meta);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Lookup> {
        Ok(Lookup {
            after_step: meta.u64()?,
            read_only: meta.bool()?,
            floats: Floats::read(meta)?,
            tables: decode_names(meta)?,
        })
    }
}

/// Appends how many rows tables have, 0 for those that are not by id.
pub(crate) fn encode_held(rows: &[u64], meta: &mut Writer) {
    meta.list(rows, |meta, rows| {
        meta.u64(*rows);
    });
}

pub(crate) fn decode_held(meta: &mut Reader<'_>) -> Result<Vec<u64>> {
    meta.list(Reader::u64)
}
