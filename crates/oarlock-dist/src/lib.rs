//! Training on many machines: where parameters live, and the programs that trainers and servers run.
//!
//! [`placement`] cuts variables into blocks and gives each to a server; [`transpile`] makes the programs of trainers and
//! servers out of a program for one machine. Both are plain functions from data to data. [`wire`] carries what trainers and
//! servers say to each other; nothing else here opens a socket.
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod client;
pub mod collective;
pub mod communicator;
pub mod elastic;
mod env;
mod finish;
mod fusion;
#[cfg(test)]
mod hostile;
mod log;
mod message;
mod op;
pub mod placement;
mod refresh;
mod rowset;
pub mod saving;
pub mod server;
mod threads;
pub mod transpile;
pub mod wire;

pub use finish::finish;
pub use fusion::fusions;
pub use log::Log;
pub use op::ops;
pub use refresh::Refresh;
