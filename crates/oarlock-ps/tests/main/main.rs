//! Clusters of trainers and servers in one process, and simulated ones.

mod cluster;
mod look_ahead;
mod partition;
#[path = "../../../oarlock-transpile/tests/programs/mod.rs"]
mod programs;
mod simulate;
mod trades;

/// The operators of programs for one machine, and those that communicate.
fn registry() -> oarlock_ir::Registry {
    oarlock_ir::Registry::new(oarlock_ops::ops().chain(oarlock_ps::ops()), [])
}
