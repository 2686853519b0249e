//! What moves and joins values: through shared memory, over a network, or both.

pub(crate) mod hierarchical;
pub(crate) mod message;
#[cfg(feature = "mpi")]
pub(crate) mod mpi;
pub(crate) mod shared_memory;
pub(crate) mod transport;

use oarlock_ir::Result;

use crate::call::{Call, Wait, What};
use crate::reduce::{Fold, FoldShared, Reduce};

/// Moves and joins values of all workers of a group. All of them call the same functions in the same order, with as many bytes.
/// Every worker ends up with the same bits, and they do not depend on who comes first.
pub(crate) trait Engine: Send {
    /// Every worker's values, joined.
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()>;

    /// This worker's slice of all workers' values, joined. `data` has one slice per worker.
    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()>;

    /// All workers' values, one after the other.
    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()>;

    /// The values of one worker, by its place in the group.
    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()>;

    /// Waits until everything that was sent has left this process.
    fn flush(&mut self) {}
}

/// The only worker that is left.
pub(crate) struct Alone;

impl Engine for Alone {
    fn all_reduce(&mut self, _: &Wait<'_>, _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn reduce_scatter(&mut self, _: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()> {
        own.copy_from_slice(data);
        Ok(())
    }

    fn all_gather(&mut self, _: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        all.copy_from_slice(own);
        Ok(())
    }

    fn broadcast(&mut self, _: &Wait<'_>, _: usize, _: &mut [u8]) -> Result<()> {
        Ok(())
    }
}

/// How a call joins values that are in shared memory.
pub(crate) fn fold_shared_of(call: &Call<'_>) -> Result<FoldShared> {
    match call.what {
        What::AllReduce(how) | What::ReduceScatter(how) => how.fold_shared(call.dtype),
        // Nothing is joined; any function will do.
        What::AllGather | What::Broadcast(_) => Reduce::Sum.fold_shared(oarlock_tensor::DType::U8),
    }
}

/// How a call joins values.
pub(crate) fn fold_of(call: &Call<'_>) -> Result<Fold> {
    match call.what {
        What::AllReduce(how) | What::ReduceScatter(how) => how.fold(call.dtype),
        // Nothing is joined; any function will do.
        What::AllGather | What::Broadcast(_) => Reduce::Sum.fold(oarlock_tensor::DType::U8),
    }
}
