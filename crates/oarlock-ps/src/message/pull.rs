//! A question for variables.

use oarlock_ir::Result;

use super::push::{decode_names, encode_names};
use oarlock_net::codec::{Reader, Writer};

/// Which variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pull {
    /// As they were after this many steps: a trainer that comes back repeats the step in which it was lost.
    /// `u64::MAX` for the values of now.
    pub(crate) after_step: u64,
    /// Of tables whose changes are noted (GEO): only rows that changed since this trainer asked last, of each as many as fit into so
    /// many bytes.
    pub(crate) changed_only: Option<u64>,
    pub(crate) names: Vec<String>,
}

impl Pull {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.after_step);
        meta.bool(self.changed_only.is_some());
        meta.u64(self.changed_only.unwrap_or(0));
        encode_names(&self.names, meta);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Pull> {
        let (after_step, changed, bytes) = (meta.u64()?, meta.bool()?, meta.u64()?);
        Ok(Pull { after_step, changed_only: changed.then_some(bytes), names: decode_names(meta)? })
    }
}

/// How many rows of a table fit into so many bytes; at least one.
pub(crate) fn rows_in(bytes: u64, width: usize) -> usize {
    let row = size_of::<i64>() + width.saturating_mul(size_of::<f32>());
    usize::try_from(bytes / row as u64).unwrap_or(usize::MAX).max(1)
}
