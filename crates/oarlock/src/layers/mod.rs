//! Layers: methods of [`Net`](crate::Net) that append operators, one file per family, with the options they take.
//!
//! Each names the Fluid function it stands for. Arguments, defaults, operators and names of variables are Fluid's.

mod activation;
mod array;
mod beam;
mod compare;
mod control;
mod conv;
mod data;
mod dropout;
mod elementwise;
mod embedding;
mod fc;
mod fill;
mod image;
mod index;
mod loss;
mod math;
mod matmul;
mod metric;
mod norm;
mod operators;
mod pool;
mod reduce;
mod rnn;
mod sampled;
mod sequence;
mod shape;
mod tagging;

pub use beam::{BeamSearch, BeamVars};
pub use compare::Compare;
pub use control::{Boot, Branch, CondBlock, DynamicRnn, IfElse, Memory, StaticRnn, Switch, While};
pub use conv::{Conv, ConvTranspose, Layout, Padding, Spatial};
pub use data::{Data, GlobalVar};
pub use dropout::Dropout;
pub use elementwise::Elementwise;
pub use embedding::Embedding;
pub use fc::Fc;
pub use image::Resize;
pub use loss::CrossEntropy;
pub use math::Scale;
pub use matmul::MatMul;
pub use metric::{Auc, AucVars};
pub use norm::{BatchNorm, DataNorm, GroupNorm, LayerNorm};
pub use operators::Operand;
pub use pool::Pool;
pub use reduce::Reduce;
pub use rnn::{Gru, Lstm, LstmStack, Lstmp};
pub use sampled::{Hsigmoid, Nce, SampledSoftmax, Sampler};
pub use sequence::{Im2Sequence, SequenceConv};
pub use shape::{Cut, Reshape};
pub use tagging::{ChunkEval, ChunkVars};
