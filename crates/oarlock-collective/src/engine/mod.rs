//! Engines move and reduce the values of a group: through shared memory, by messages (TCP or MPI), or both in a hierarchy.

pub(crate) mod hierarchical;
pub(crate) mod message;
#[cfg(feature = "mpi")]
pub(crate) mod mpi;
pub(crate) mod shared_memory;
pub(crate) mod transport;

use oarlock_ir::Result;

use crate::call::{Call, CallKind, Wait};
use crate::reduce::{Fold, FoldShared, Reduce};

/// Moves and reduces the values of all ranks of a group. All ranks call the same functions in the same order, with the same number of
/// bytes. Every rank ends up with the same bits, which do not depend on the order of arrival.
pub(crate) trait Engine: Send {
    /// The reduced values of all ranks.
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()>;

    /// This rank's slice of the reduced values. `data` has one slice per rank.
    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()>;

    /// The values of all ranks, one after the other.
    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()>;

    /// The values of one rank, by its place in the group.
    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()>;

    /// Waits until everything that was sent has left this process.
    fn flush(&mut self) {}
}

/// The engine of a group with one rank.
pub(crate) struct SingleRank;

impl Engine for SingleRank {
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

/// The reduction of a call for values in shared memory.
pub(crate) fn fold_shared_of(call: &Call<'_>) -> Result<FoldShared> {
    match call.kind {
        CallKind::AllReduce(how) | CallKind::ReduceScatter(how) => how.fold_shared(call.dtype),
        // Nothing is reduced; any function will do.
        CallKind::AllGather | CallKind::Broadcast(_) => Reduce::Sum.fold_shared(oarlock_tensor::DType::U8),
    }
}

/// The reduction of a call.
pub(crate) fn fold_of(call: &Call<'_>) -> Result<Fold> {
    match call.kind {
        CallKind::AllReduce(how) | CallKind::ReduceScatter(how) => how.fold(call.dtype),
        // Nothing is reduced; any function will do.
        CallKind::AllGather | CallKind::Broadcast(_) => Reduce::Sum.fold(oarlock_tensor::DType::U8),
    }
}
