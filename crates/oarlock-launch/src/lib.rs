//! Jobs of several processes: what each finds in its environment, where it runs, and who looks after it.
//!
//! [`Cluster`] is what a process knows of its job; it is read from the environment and written to it. [`plan`] makes the
//! clusters of all processes of this host out of what the user asked for. [`run`] starts them, watches them and ends them.
//! [`check`] looks whether a plan can work. Nothing here knows what the processes compute.
#![forbid(unsafe_code)]

mod check;
mod cloud;
mod cluster;
mod guard;
mod host;
mod mpirun;
mod output;
mod plan;
mod process;
mod program;
mod rendezvous;
mod server_memory;
mod supervise;

use std::time::Instant;

pub use check::{Finding, check, compare_hosts};
pub use cloud::{node_from_env, paddlecloud};
pub use cluster::{Cluster, Role, VARIABLES};
pub use host::device_address;
pub use mpirun::{inside_mpirun, run_mpi};
pub use plan::{Ask, Plan, plan};
pub use program::Program;
pub use rendezvous::{Rendezvous, gather_nodes};
pub use server_memory::server_bytes;
pub use supervise::{Launch, ServerLogs, absolute, run};

/// The time: the one clock of the launcher.
#[expect(clippy::disallowed_methods, reason = "deadlines of real processes")]
fn now() -> Instant {
    Instant::now()
}

/// A variable of the environment of this process, unless it is empty.
#[expect(clippy::disallowed_methods, reason = "the one place of the launcher that reads the environment")]
pub fn var(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.trim().is_empty()).then_some(value)
}

/// A list written with commas.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect()
}
