//! From a Program to a Plan to a run.
//!
//! An [`Executor`] compiles a program once for each set of feeds and fetches ([`plan`]), binds the variables that outlive a run from a
//! [`Scope`], and runs it. This crate knows no concrete operator, no file and no network.
#![forbid(unsafe_code)]

pub mod eager;
mod executor;
mod explain;
mod hogwild;
mod instance;
mod plan;
mod plan_cache;
mod profile;
pub mod replicas;
mod scope;
mod session;
mod state;

pub use executor::{ExecOptions, Executor, MemoryReport};
pub use hogwild::HogwildThread;
pub use plan::plan_passes;
pub use profile::{OpTime, Profile, SharedProfile};
pub use scope::Scope;
pub use session::Session;
pub use state::ExecState;
