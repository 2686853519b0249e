//! Loops over slices, compiled for several instruction sets and chosen at run time.

pub(crate) mod blocked;
pub(crate) mod dots;
pub(crate) mod sums;
pub(crate) mod vector;
