//! A trainer's part of a meeting: all trainers bring a value, and all get the values of all.
//!
//! The reply is either [`Met`] and the values, named by the trainers' numbers, or [`Awaited`]: a trainer that waits asks again, so that
//! it can say for whom it waits.

use oarlock_ir::Result;

use super::pause::Paused;
use oarlock_net::codec::{Reader, Writer};

/// What stands before the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meet {
    /// Which of the meetings of this process, counted from 1: who asks again does not come twice.
    pub(crate) number: u64,
    /// The step that it is part of, 0 for none. Who comes back and repeats a step gets what its meeting gave.
    pub(crate) step: u64,
    /// The pause of this process meanwhile, 0 for none.
    pub(crate) pause: u64,
    /// What it is for. Trainers that mean different things must not meet.
    pub(crate) purpose: String,
}

impl Meet {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.number);
        meta.u64(self.step);
        meta.u64(self.pause);
        meta.str(&self.purpose);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Meet> {
        Ok(Meet { number: meta.u64()?, step: meta.u64()?, pause: meta.u64()?, purpose: meta.str()?.to_string() })
    }
}

/// All have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Met {
    /// Steps that the server had made by then.
    pub(crate) done: u64,
    /// Who came in a pause, and in which.
    pub(crate) paused: Vec<Paused>,
}

impl Met {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.done);
        meta.list(&self.paused, |meta, paused| paused.encode(meta));
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Met> {
        Ok(Met { done: meta.u64()?, paused: meta.list(Paused::decode)? })
    }
}

/// Some have not come yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// Who.
    pub(crate) trainers: Vec<u32>,
}

impl Awaited {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.list(&self.trainers, |meta, trainer| {
            meta.u32(*trainer);
        });
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Awaited> {
        Ok(Awaited { trainers: meta.list(|meta| meta.u32())? })
    }
}
