//! Groups of collective workers that train transpiled programs, as threads and as processes that are killed.

mod mpi;
mod processes;
#[allow(dead_code, reason = "shared with the tests of servers")]
#[path = "../../../oarlock-transpile/tests/programs/mod.rs"]
mod programs;
mod support;
mod training;

/// The operators of programs for one machine, and those that communicate.
fn registry() -> oarlock_ir::Registry {
    oarlock_ir::Registry::new(oarlock_ops::ops().chain(oarlock_collective::ops()), [])
}
