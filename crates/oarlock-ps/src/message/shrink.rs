//! Takes rows away from the hashed tables of a server: those that nobody needs any more. Answered alike, with their number.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// Which rows go: each for which one of these holds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stale {
    /// Not updated since so many calls before this one. With one call a day these are days.
    pub calls: Option<u32>,
    /// Not updated in so many of the latest updates of its table.
    pub steps: Option<u32>,
    /// Updated less often than so many times.
    pub count: Option<u32>,
    /// With a score below this, in tables whose rows count shows and clicks.
    pub score: Option<f32>,
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shrink {
    /// Which of the calls of this process, counted from 1: a repeat is not done again.
    pub(crate) number: u64,
    pub(crate) stale: Stale,
    /// How many rows went: in the answer.
    pub(crate) gone: u64,
}

impl Shrink {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.number);
        let score = self.stale.score.map(f32::to_bits);
        for limit in [self.stale.calls, self.stale.steps, self.stale.count, score] {
            meta.bool(limit.is_some());
            meta.u32(limit.unwrap_or(0));
        }
        meta.u64(self.gone);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Shrink> {
        let number = meta.u64()?;
        let mut limit = || Ok(meta.bool()?.then_some(meta.u32()?));
        let (calls, steps, count) = (limit()?, limit()?, limit()?);
        let stale = Stale { calls, steps, count, score: limit()?.map(f32::from_bits) };
        Ok(Shrink { number, stale, gone: meta.u64()? })
    }
}
