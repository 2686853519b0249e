//! One collective call (an all-reduce, say), and the waiting of a rank for the others in it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::DType;

use crate::failure::FailureState;
use crate::reduce::Reduce;
use oarlock_net::now;

/// A collective call of a rank. All ranks must make the same call at the same time, so they compare these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) kind: CallKind,
    pub(crate) dtype: DType,
    /// The number of elements that this rank gives.
    pub(crate) count: usize,
    /// The variable, for messages.
    pub(crate) name: &'a str,
}

/// The kind of a collective call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CallKind {
    AllReduce(Reduce),
    ReduceScatter(Reduce),
    AllGather,
    /// From this rank.
    Broadcast(usize),
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CallKind::AllReduce(how) => write!(f, "all_reduce ({how})")?,
            CallKind::ReduceScatter(how) => write!(f, "reduce_scatter ({how})")?,
            CallKind::AllGather => f.write_str("all_gather")?,
            CallKind::Broadcast(root) => write!(f, "broadcast from rank {root}")?,
        }
        write!(f, " of {}[{}] `{}`", self.dtype, self.count, self.name)
    }
}

/// The deadline of a call, and the events that end it before.
pub(crate) struct Wait<'a> {
    pub(crate) failures: &'a FailureState,
    pub(crate) until: Instant,
    pub(crate) interrupted: Option<&'a AtomicBool>,
    pub(crate) call: Call<'a>,
}

impl Wait<'_> {
    /// Fails if waiting for `rank` is of no use any more: it died or left, the run was interrupted, or the deadline is over.
    pub(crate) fn check(&self, rank: usize) -> Result<()> {
        self.failures.check(rank, &self.call)?;
        if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Error::new(
                Kind::Interrupted,
                format!("the run was interrupted while it waited in {}", self.call),
            ));
        }
        if now() >= self.until {
            return Err(self.failures.too_late(rank, &self.call));
        }
        Ok(())
    }

    /// Fails if another rank makes another call.
    pub(crate) fn compare(&self, rank: usize, mine: &[u8], theirs: &[u8]) -> Result<()> {
        if mine == theirs {
            return Ok(());
        }
        let (who, theirs) = (self.failures.name(rank), String::from_utf8_lossy(theirs));
        let (me, mine) = (self.failures.own(), String::from_utf8_lossy(mine));
        Err(Error::new(Kind::Argument, format!("{who} is in {theirs}, but {me} in {mine}"))
            .help("all ranks must run the same program, with the same shapes, in the same order"))
    }
}
