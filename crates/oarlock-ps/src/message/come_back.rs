//! A trainer that was lost, and without which the others went on, agrees with the servers on the step from which on it takes part again.
//! Answered alike.

use oarlock_ir::Result;

use oarlock_net::codec::{Reader, Writer};

/// The question, and the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ComeBack {
    /// From this step on; 0 only asks how things stand. In the answer, 0 if it is too late for that step.
    pub(crate) from: u64,
    /// Answer when the step before it is done, or after a while.
    pub(crate) wait: bool,
    /// How many pauses the process has begun: they are over.
    pub(crate) pauses: u64,
    /// Steps that the server has made.
    pub(crate) done: u64,
    /// Nobody takes part in the next step.
    pub(crate) idle: bool,
}

impl ComeBack {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u64(self.from);
        meta.bool(self.wait);
        meta.u64(self.pauses);
        meta.u64(self.done);
        meta.bool(self.idle);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<ComeBack> {
        Ok(ComeBack {
            from: meta.u64()?,
            wait: meta.bool()?,
            pauses: meta.u64()?,
            done: meta.u64()?,
            idle: meta.bool()?,
        })
    }
}
