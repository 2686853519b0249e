//! Operators on arrays: shapes, slices, indices, fills, random numbers and embeddings.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]
#![allow(clippy::module_inception, reason = "a family may have the name of one of its operators")]

pub mod embedding;
mod fill;
mod index;
mod random;
mod shape;
mod slicing;

oarlock_ops_support::families!(embedding, fill, index, random, shape, slicing);

#[cfg(test)]
oarlock_ops_testing::harness!();
