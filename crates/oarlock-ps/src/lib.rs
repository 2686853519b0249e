//! Parameter servers: the server, the client that trainers have, the communicators beside it, checkpoints of a job, and the operators
//! that talk to servers.
//!
//! Programs come from `oarlock_transpile`, connections from `oarlock_net`; no socket is opened elsewhere.
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod client;
pub mod communicator;
mod fusion;
#[cfg(test)]
mod hostile;
mod op;
mod protocol;
mod refresh;
mod request;
mod rowset;
pub mod saving;
pub mod server;
mod settings;
mod state;

pub use fusion::fusions;
pub use op::ops;
pub use state::PsState;
