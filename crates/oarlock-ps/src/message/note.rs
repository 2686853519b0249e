//! Where a trainer stands, left at a server for whoever saves a checkpoint. The note is a section; the reply brings the latest
//! notes of all trainers, a section each.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// Whose notes follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) trainers: Vec<u32>,
}

impl Notes {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.list(&self.trainers, |meta, trainer| {
            meta.u32(*trainer);
        });
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Notes> {
        Ok(Notes { trainers: meta.list(Reader::u32)? })
    }
}
