//! The global shuffle of samples between collective workers: an all-to-all by all-gather, of which each rank keeps its part. A round is a few
//! megabytes, so the rest costs little beside another kind of exchange.

use oarlock_io::data::{Exchange, SampleParts};
use oarlock_ir::Result;

use super::Group;
use oarlock_net::codec::{Reader, Writer, damaged};

/// The exchange of a global shuffle in a group.
pub struct ShuffleExchange<'a>(pub &'a Group);

impl Exchange for ShuffleExchange<'_> {
    fn trainers(&self) -> usize {
        self.0.world()
    }

    fn trainer(&self) -> usize {
        self.0.rank()
    }

    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts> {
        let mut own = Writer::new();
        own.bool(round.more).list(&round.parts, |own, part| _ = own.bytes(part));
        let mut got = SampleParts { parts: Vec::new(), more: false };
        for bytes in self.0.gather(own.as_bytes())? {
            let mut reader = Reader::new(&bytes, "samples of a rank");
            got.more |= reader.bool()?;
            let parts = reader.list(|reader| reader.bytes())?;
            let mine =
                parts.get(self.0.rank()).ok_or_else(|| damaged("a rank has samples for fewer ranks than there are"))?;
            got.parts.push(mine.to_vec());
        }
        Ok(got)
    }
}
