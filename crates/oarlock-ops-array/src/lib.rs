//! Operators on arrays: shapes, slices, indices, fills, random numbers and embeddings.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

pub mod embedding;
mod fill;
mod index;
mod random;
mod shape;
mod slicing;

use oarlock_ir::OpDef;

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    let families = [embedding::ALL, fill::ALL, index::ALL, random::ALL, shape::ALL, slicing::ALL];
    families.into_iter().flatten().copied().flatten().copied()
}

#[cfg(test)]
mod testing {
    pub(crate) use oarlock_ops_testing::*;

    /// Starts a check of an operator of this crate.
    pub(crate) fn check(op_type: &str) -> Check {
        Check::new(crate::ops(), op_type)
    }
}
