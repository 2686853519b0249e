//! Operators on control flow: blocks, loops, arrays of tensors, feeds and fetches.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod control;

use oarlock_ir::OpDef;

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    let families = [control::ALL];
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
