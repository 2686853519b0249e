//! Loops over slices, compiled for several instruction sets and chosen at run time.
//!
//! Element-by-element loops are plain Rust without fused multiply-add, so an element's bits depend neither on the CPU nor
//! on where a slice is divided. Reductions add in an order fixed by the length. Slices of one call must have one length
//! (or rows of one width); a mismatch panics, because operators have checked shapes long before.

pub(crate) mod blocked;
pub(crate) mod dots;
mod elementwise;
pub(crate) mod lookups;
mod math;
mod normalize;
mod pack;
pub(crate) mod packed;
mod prefetch;
mod reduce;
pub(crate) mod shifted;
pub(crate) mod sums;
pub(crate) mod tiles;
mod update;
pub(crate) mod vector;

pub use elementwise::*;
pub use lookups::{Named, lookup_dots, lookup_sums, sgd_rows_outer};
pub use math::*;
pub use normalize::*;
pub use prefetch::{AHEAD, prefetch};
pub use reduce::*;
pub use shifted::*;
pub use update::*;
