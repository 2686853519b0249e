//! Operators on sequences: rows with LoD, recurrent networks, tagging and decoding, fused inference.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod decoding;
mod fused;
mod recurrent;
mod sequence;

oarlock_ops_support::families!(decoding, fused, recurrent, sequence);

#[cfg(test)]
oarlock_ops_testing::harness!();
