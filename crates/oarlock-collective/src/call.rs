//! One exchange: what it is, and how long a worker waits for the others in it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::DType;

use crate::failure::Fate;
use crate::reduce::Reduce;
use oarlock_net::now;

/// What a worker does. All workers must do the same at the same time, so they compare these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) what: What,
    pub(crate) dtype: DType,
    /// Elements that this worker gives.
    pub(crate) count: usize,
    /// The variable, for messages.
    pub(crate) name: &'a str,
}

/// The kind of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum What {
    AllReduce(Reduce),
    ReduceScatter(Reduce),
    AllGather,
    /// From this worker.
    Broadcast(usize),
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::AllReduce(how) => write!(f, "all_reduce ({how})")?,
            What::ReduceScatter(how) => write!(f, "reduce_scatter ({how})")?,
            What::AllGather => f.write_str("all_gather")?,
            What::Broadcast(root) => write!(f, "broadcast from rank {root}")?,
        }
        write!(f, " of {}[{}] `{}`", self.dtype, self.count, self.name)
    }
}

/// How long to wait, and what ends the wait before.
pub(crate) struct Wait<'a> {
    pub(crate) fate: &'a Fate,
    pub(crate) until: Instant,
    pub(crate) interrupted: Option<&'a AtomicBool>,
    pub(crate) call: Call<'a>,
}

impl Wait<'_> {
    /// Fails if there is no use in waiting any longer for `rank`.
    pub(crate) fn look(&self, rank: usize) -> Result<()> {
        self.fate.check(rank, &self.call)?;
        if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Error::new(
                Kind::Interrupted,
                format!("the run was interrupted while it waited in {}", self.call),
            ));
        }
        if now() >= self.until {
            return Err(self.fate.too_late(rank, &self.call));
        }
        Ok(())
    }

    /// Fails if another worker does something else.
    pub(crate) fn same(&self, rank: usize, mine: &[u8], theirs: &[u8]) -> Result<()> {
        if mine == theirs {
            return Ok(());
        }
        let (who, theirs) = (self.fate.name(rank), String::from_utf8_lossy(theirs));
        let (me, mine) = (self.fate.own(), String::from_utf8_lossy(mine));
        Err(Error::new(Kind::Argument, format!("{who} is in {theirs}, but {me} in {mine}"))
            .help("all workers must run the same program, with the same shapes, in the same order"))
    }
}
