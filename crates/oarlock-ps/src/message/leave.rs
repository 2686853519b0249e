//! A trainer is done, and how far it came.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// The last word of a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leave {
    /// The steps it made.
    pub(crate) steps: u64,
}

impl Leave {
    pub(crate) fn encode(self, meta: &mut Writer) {
        meta.u64(self.steps);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Leave> {
        Ok(Leave { steps: meta.u64()? })
    }
}
