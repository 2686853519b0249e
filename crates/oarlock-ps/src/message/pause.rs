//! A trainer that is about to wait for the others elsewhere tells every server so; when the wait is over, it tells them from which
//! step on all that waited take part again. Both are answered with [`Resumed`].

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// A trainer has no data until it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Which of the pauses of this process, counted from 1.
    pub(crate) number: u64,
}

/// A pause of a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paused {
    pub(crate) trainer: u32,
    pub(crate) incarnation: u64,
    pub(crate) number: u64,
}

/// These pauses are over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resume {
    /// The step from which on their trainers take part.
    pub(crate) from: u64,
    pub(crate) of: Vec<Paused>,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resumed {
    /// Does the trainer that asks take part from that step on? If not, it must agree on another with all servers.
    pub(crate) taken: bool,
}

impl Pause {
    pub(crate) fn encode(self, meta: &mut Writer) {
        meta.u64(self.number);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Pause> {
        Ok(Pause { number: meta.u64()? })
    }
}

impl Paused {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u32(self.trainer).u64(self.incarnation).u64(self.number);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Paused> {
        Ok(Paused { trainer: meta.u32()?, incarnation: meta.u64()?, number: meta.u64()? })
    }
}

impl Resume {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.from);
        meta.list(&self.of, |meta, paused| paused.encode(meta));
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Resume> {
        Ok(Resume { from: meta.u64()?, of: meta.list(Paused::decode)? })
    }
}

impl Resumed {
    pub(crate) fn encode(self, meta: &mut Writer) {
        meta.bool(self.taken);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Resumed> {
        Ok(Resumed { taken: meta.bool()? })
    }
}
