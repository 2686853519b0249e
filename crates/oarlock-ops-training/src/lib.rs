//! Operators on training: losses, sampled classes, metrics and optimizers.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

pub mod loss;
mod metric;
pub mod optimizer;
mod sampling;

oarlock_ops_support::families!(loss, metric, optimizer, sampling);

#[cfg(test)]
oarlock_ops_testing::harness!();
