//! Operators on arithmetic: activations, functions of one number, broadcasting, comparisons, reductions and matrix products.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod activation;
mod compare;
mod elementwise;
mod matmul;
mod reduce;
mod unary;

use oarlock_ir::OpDef;

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    let families = [activation::ALL, compare::ALL, elementwise::ALL, matmul::ALL, reduce::ALL, unary::ALL];
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
