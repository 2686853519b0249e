//! Operators on images: convolution, pooling, resampling and normalization.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
#![forbid(unsafe_code)]

mod conv;
mod image;
mod norm;
mod pool;

oarlock_ops_support::families!(conv, image, norm, pool);

#[cfg(test)]
oarlock_ops_testing::harness!();
