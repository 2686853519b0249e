//! A round in which trainers exchange bytes with each other, through the servers. Each part is a section; the reply brings what
//! the others sent to the trainer that asks.

use oarlock_ir::Result;

use oarlock_net::Incoming;
use oarlock_net::codec::damaged;
use oarlock_net::codec::{Reader, Writer};

/// What stands before the parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trade {
    /// Which round, counted from 1 over the whole job.
    pub(crate) number: u64,
    /// Asked: has the trainer more to send afterwards? Replied: has any?
    pub(crate) more: bool,
    /// Asked: to whom each part goes. Replied: from whom it comes.
    pub(crate) trainers: Vec<u32>,
}

impl Trade {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.number);
        meta.bool(self.more);
        meta.list(&self.trainers, |meta, trainer| {
            meta.u32(*trainer);
        });
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Trade> {
        Ok(Trade { number: meta.u64()?, more: meta.bool()?, trainers: meta.list(Reader::u32)? })
    }

    /// The parts of a message, each with its trainer.
    pub(crate) fn parts<'f>(&self, frame: &'f Incoming) -> Result<Vec<(u32, &'f [u8])>> {
        let part = |(i, trainer): (usize, &u32)| Some((*trainer, frame.section(i)?));
        let parts: Option<Vec<_>> = self.trainers.iter().enumerate().map(part).collect();
        parts.ok_or_else(|| damaged("a part of an exchange is missing"))
    }
}
