//! Operators on arithmetic: activations, functions of one number, broadcasting, comparisons, reductions, matrix products and
//! quantization.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]
#![allow(clippy::module_inception, reason = "a family may have the name of one of its operators")]

mod activation;
mod compare;
mod elementwise;
mod matmul;
mod quantization;
mod reduce;
mod unary;

oarlock_ops_support::families!(activation, compare, elementwise, matmul, quantization, reduce, unary);

#[cfg(test)]
oarlock_ops_testing::harness!();
