//! Operators on sequences: rows with LoD, recurrent networks, tagging and decoding, fused inference.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod decoding;
mod fused;
mod recurrent;
mod sequence;

use oarlock_ir::OpDef;

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    let families = [decoding::ALL, fused::ALL, recurrent::ALL, sequence::ALL];
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
