//! Workers that are equal and exchange values among themselves: sums, copies, barriers.
//!
//! [`Group`] is what users see. `form` joins its workers, with rank 0 as the place where they meet; `watch` notices who dies, and
//! `fate` is where whoever waits learns it. An `engine` moves the values: `shared` through memory of one machine, `wired` by
//! messages over a `transport` (TCP, or `mpi`), `layered` both. `stream` exchanges gradients beside the computation.
//!
//! Groups and engines must not know of programs and operators: those of `op` call them. `elastic` repeats a step without the workers
//! that were lost, `finish` goes on without data until no worker has any.

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
pub use groups::Rings;
pub use op::ops;
pub use reduce::Reduce;
pub use shuffle::Circle;
pub(crate) use stream::{Item, Stream};
