//! Operators on control flow: blocks, loops, arrays of tensors, feeds and fetches.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod control;

oarlock_ops_support::families!(control);

#[cfg(test)]
oarlock_ops_testing::harness!();
