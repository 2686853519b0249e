//! A question for variables.

use oarlock_ir::Result;

use super::push::{decode_names, encode_names};
use crate::wire::codec::{Reader, Writer};

/// Which variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pull {
    /// As they were after this many steps: a trainer that comes back repeats the step in which it was lost.
    /// `u64::MAX` for the values of now.
    pub(crate) after_step: u64,
    /// Of a table with a count of changes (GEO): only rows that changed since this trainer asked last.
    pub(crate) changed_only: bool,
    pub(crate) names: Vec<String>,
}

impl Pull {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.after_step);
        meta.bool(self.changed_only);
        encode_names(&self.names, meta);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Pull> {
        Ok(Pull { after_step: meta.u64()?, changed_only: meta.bool()?, names: decode_names(meta)? })
    }
}
