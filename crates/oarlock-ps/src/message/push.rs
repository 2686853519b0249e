//! A trainer's gradients. The reply brings the values that it asked for, and rows for its next step where it knows which: so a
//! step is one exchange per server.

use oarlock_ir::Result;

use oarlock_net::Floats;
use oarlock_net::codec::{Reader, Writer};

/// What stands before the variables of a push.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Push {
    /// The step that this push completes; 0 if the server is not to wait for the other trainers.
    pub(crate) step: u64,
    /// Another part of what is pushed follows: the push is not complete.
    pub(crate) more: bool,
    /// How the reply is to write its elements.
    pub(crate) floats: Floats,
    /// The variables that the reply brings.
    pub(crate) wants: Vec<String>,
    /// Tables whose rows the reply brings, too: the ids for the k-th are the k-th section behind those of the variables. In the reply
    /// it is the k-th section behind those of the values, empty if the server cannot give the rows now.
    pub(crate) tables: Vec<String>,
}

impl Push {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.step);
        meta.bool(self.more);
        self.floats.write(meta);
        encode_names(&self.wants, meta);
        encode_names(&self.tables, meta);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Push> {
        Ok(Push {
            step: meta.u64()?,
            more: meta.bool()?,
            floats: Floats::read(meta)?,
            wants: decode_names(meta)?,
            tables: decode_names(meta)?,
        })
    }
}

pub(super) fn encode_names(names: &[String], meta: &mut Writer) {
    meta.list(names, |meta, name| {
        meta.str(name);
    });
}

pub(super) fn decode_names(meta: &mut Reader<'_>) -> Result<Vec<String>> {
    meta.list(|meta| meta.str().map(str::to_string))
}
