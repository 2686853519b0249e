//! Clusters of trainers and servers in one process, and simulated ones.

mod all_to_all;
mod cluster;
mod network_partition;
mod prefetch;
#[path = "../../../oarlock-transpile/tests/programs/mod.rs"]
mod programs;
mod simulate;

/// The operators of programs for one machine, and those that communicate.
fn registry() -> oarlock_ir::Registry {
    oarlock_ir::Registry::new(oarlock_ops::ops().chain(oarlock_ps::ops()), [])
}
