//! Tensors and the CPU math under Oarlock's operators.
//!
//! This crate knows memory, shapes and numbers. It knows nothing of programs, operators, files or networks.
//! `unsafe` lives only in `buf` and `simd`.

mod buf;
mod dims;
mod dtype;
mod error;
pub mod gemm;
mod lod;
pub mod merge;
mod pool;
pub mod rng;
mod rows;
pub mod simd;
pub mod table;
mod tensor;
mod value;

pub use buf::{Buf, Foreign};
pub use dims::{Dims, MAX_RANK};
pub use dtype::{B8, DType, Element, Float};
pub use error::{Error, Result};
pub use lod::Lod;
pub use pool::Pool;
pub use rows::SelectedRows;
pub use tensor::Tensor;
pub use value::{RankTable, TensorArray, Value};

pub use half::{bf16, f16};
