//! Helpers that kernels of several operator families share: checks, broadcasting, axes, integer inputs, sliding windows, LoD.
//!
//! A helper of one family lies in that family's directory instead.
#![forbid(unsafe_code)]

pub mod broadcast;
pub mod checks;
pub mod class_axis;
pub mod double_gradient;
pub mod equal_sizes;
pub mod int_list;
pub mod ints;
pub mod lod_rows;
pub mod number;
pub mod pointwise;
pub mod seed;
pub mod sliding_window;
pub mod strided_view;

#[doc(hidden)]
pub use oarlock_tensor::DType;

/// Defines `ops()`: the operators of these families of a crate.
#[macro_export]
macro_rules! families {
    ($($family:ident),*) => {
        /// All operators of this crate.
        pub fn ops() -> impl Iterator<Item = &'static dyn oarlock_ir::OpDef> {
            [$($family::ALL),*].into_iter().flatten().copied().flatten().copied()
        }
    };
}
