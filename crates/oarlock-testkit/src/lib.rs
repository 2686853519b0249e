//! What tests share: reading `.npz` files, comparing with tolerances, finding golden data.
//!
//! Only a dev-dependency: nothing that is shipped uses this crate, so it may panic freely.
#![forbid(unsafe_code)]

mod close;
mod golden;
mod npz;

pub use close::{Tolerance, assert_close, close};
pub use golden::{golden_dir, skip};
pub use npz::{Npz, read_npy};
pub use serde_json::{self as json, Value as Json};
