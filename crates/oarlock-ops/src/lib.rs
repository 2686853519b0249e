//! All operators of Oarlock, from the crates of their families, and its fusions: one file each under `fusion/` with pattern,
//! legality, kernel and test.
//!
//! This crate does no input or output and knows no executor.
#![forbid(unsafe_code)]

mod fusion;
mod unsupported;

use oarlock_ir::{Fusion, OpDef};

pub use unsupported::{UNSUPPORTED, Unsupported, unsupported};

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    oarlock_ops_math::ops()
        .chain(oarlock_ops_array::ops())
        .chain(oarlock_ops_control::ops())
        .chain(oarlock_ops_detection::ops())
        .chain(oarlock_ops_image::ops())
        .chain(oarlock_ops_sequence::ops())
        .chain(oarlock_ops_training::ops())
}

/// All fusions of this crate; their order means nothing.
pub fn fusions() -> impl Iterator<Item = &'static dyn Fusion> {
    fusion::ALL.iter().flat_map(|file| file.iter().copied())
}

#[cfg(test)]
mod testing {
    use oarlock_tensor::Tensor;

    pub(crate) use oarlock_ops_testing::*;

    /// Starts a check of fusions with a program in its text form; `inputs` are the variables it reads.
    #[track_caller]
    pub(crate) fn fusion(text: &str, inputs: Vec<(&str, Tensor)>) -> FusionCheck {
        FusionCheck::new(crate::ops(), crate::fusions(), text, inputs)
    }
}
