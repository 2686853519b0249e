//! Fixtures of tests: reading `.npz` files, comparing with tolerances, finding golden data, attacking parsers, counting memory.
//!
//! Only a dev-dependency: nothing that is shipped uses this crate, so it may panic freely.

mod allocations;
mod close;
mod golden;
mod hostile;
mod npz;

pub use allocations::{Counting, most_allocated};
pub use close::{Tolerance, assert_close, close};
pub use golden::{golden_dir, skip};
pub use hostile::{attack, in_own_process};
pub use npz::{Npz, read_npy};
pub use serde_json::{self as json, Value as Json};
