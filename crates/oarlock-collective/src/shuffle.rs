//! Samples between equal workers: every worker gives all of its parts to all, and each keeps what is for it. A round is a few megabytes, so
//! what is sent for nothing costs little beside another kind of exchange.

use oarlock_io::data::{Exchange, SampleParts};
use oarlock_ir::Result;

use super::Group;
use oarlock_net::codec::{Reader, Writer, damaged};

/// The workers of a group as partners of a shuffle.
pub struct Circle<'a>(pub &'a Group);

impl Exchange for Circle<'_> {
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
            let mut reader = Reader::new(&bytes, "samples of a worker");
            got.more |= reader.bool()?;
            let parts = reader.list(|reader| reader.bytes())?;
            let mine =
                parts.get(self.0.rank()).ok_or_else(|| damaged("a worker has samples for fewer than there are"))?;
            got.parts.push(mine.to_vec());
        }
        Ok(got)
    }
}
