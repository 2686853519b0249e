//! A server saves what it keeps, as it is at this moment, while training goes on.

use oarlock_ir::Result;

use super::push::{decode_names, encode_names};
use oarlock_net::codec::{Reader, Writer};

/// What to save, and where. Asked again with `wait`, a server says whether it is done: [`DONE`](super::kind::DONE), or
/// [`AWAITED`](super::kind::AWAITED) of nobody while it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The folder of all checkpoints: a path or a URL, as the server sees it.
    pub(crate) dir: String,
    /// Which checkpoint.
    pub(crate) number: u64,
    /// The server's own number, which names its folder.
    pub(crate) server: u32,
    /// Wait until it is saved, for a while.
    pub(crate) wait: bool,
    /// The server's variables.
    pub(crate) names: Vec<String>,
}

impl Cut {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.str(&self.dir);
        meta.u64(self.number);
        meta.u32(self.server);
        meta.bool(self.wait);
        encode_names(&self.names, meta);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Cut> {
        Ok(Cut {
            dir: meta.str()?.to_string(),
            number: meta.u64()?,
            server: meta.u32()?,
            wait: meta.bool()?,
            names: decode_names(meta)?,
        })
    }
}
