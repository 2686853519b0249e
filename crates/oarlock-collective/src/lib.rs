//! Collective training: workers without parameter servers that exchange values among themselves (all-reduce, all-gather,
//! reduce-scatter, broadcast, barrier).
//!
//! One step of collective training:
//!
//! 1. `oarlock_transpile` has put a `c_allreduce_sum` after the operator that completes a gradient, and a `c_sync_comm_stream`
//!    before the first update; the startup program joins the group and broadcasts rank 0's parameters.
//! 2. `c_gen_nccl_id` forms a [`Group`] (`rendezvous`): all ranks connect to rank 0, which compares their programs; then they map
//!    shared memory or connect to each other. The runtime keeps the group ([`Groups`]), so that the operators of any executor find it.
//! 3. `c_allreduce_sum` moves the tensor into a `stream`, whose thread packs gradients into buckets and reduces them beside the
//!    computation, if the next operator that touches the variable waits for it; otherwise it reduces at once. `c_sync_comm_stream`
//!    puts the tensors back.
//! 4. An `engine` moves the values: `shared_memory` on one machine, `message` (ring all-reduce over a `transport`: TCP or `mpi`) between
//!    machines, `hierarchical` both. Sums have one order, so that results do not depend on which rank is first.
//! 5. Weights are summed with the gradients. A rank without data makes zero-weight steps until no rank has data ([`finish()`]).
//!
//! Failures: ranks send heartbeats to the coordinator (`failure_detector`); an exchange that waits checks the `failure` state, and its
//! error names the rank that died. In an elastic group the other ranks form the group again and repeat the step ([`elastic`]), and
//! a restarted rank rejoins (`rejoin`).
//!
//! Groups and engines must not know of programs and operators: those of `op` call them. `tests.rs` runs groups of threads;
//! `tests/main` trains with threads, and with processes that are killed and stopped.

#![forbid(unsafe_code)]

mod backend;
mod call;
pub mod elastic;
mod engine;
mod failure;
mod failure_detector;
mod finish;
mod group;
mod groups;
mod listener;
mod op;
mod reduce;
mod rejoin;
mod rendezvous;
mod settings;
mod shuffle;
mod stream;
#[cfg(test)]
mod tests;

pub use backend::Backend;
pub use finish::finish;
pub use group::{Group, GroupOptions};
pub use groups::Groups;
pub use op::ops;
pub use reduce::Reduce;
pub use shuffle::ShuffleExchange;
pub(crate) use stream::{Item, Stream};
