//! The operators of collective workers: signature, inference and kernel. The functions that make one for a program are in
//! `oarlock_transpile::ops`.

mod barrier;
mod collective;
mod comm_init;
mod gen_nccl_id;
mod sync_stream;

use oarlock_ir::{OpDef, Traits};

/// The operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    let files = [barrier::OPS, collective::OPS, comm_init::OPS, gen_nccl_id::OPS, sync_stream::OPS];
    files.into_iter().flatten().copied()
}

/// Never pruned, no gradient flows through it, and a process does it once, however many replicas it runs.
const EXCHANGES: Traits = Traits::GRADIENT_FREE.side_effect().once();
