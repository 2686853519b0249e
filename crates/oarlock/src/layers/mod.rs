//! Layers: methods of [`Net`](crate::Net) that append operators, one file per family, with the options they take.
//!
//! Each names the Fluid function it stands for. Arguments, defaults, operators and names of variables are Fluid's.

mod activation;
mod array;
mod beam;
mod cell;
mod compare;
mod control;
mod conv;
mod data;
mod decode;
mod detection;
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
mod print;
mod reduce;
mod rnn;
mod sampled;
mod sequence;
mod shape;
mod tagging;

pub use beam::{BeamSearch, BeamVars};
pub use cell::{Cell, GruCell, LstmCell, Rnn, RnnCell};
pub use compare::Compare;
pub use control::{Boot, Branch, CondBlock, DynamicRnn, IfElse, Memory, StaticRnn, Switch, While};
pub use conv::{Conv, ConvTranspose, Layout, Padding, Spatial};
pub use data::{Data, GlobalVar};
pub use decode::{BeamSearchDecoder, Decode, DecodeStart, DecodeStep, Decoded, Decoder, Finished};
pub use detection::{DetectionMap, MapState, MapVars, Truth};
pub use dropout::Dropout;
pub use elementwise::Elementwise;
pub use embedding::{Embedding, Entry};
pub use fc::Fc;
pub use image::{Pad2d, Resize};
pub use loss::CrossEntropy;
pub use math::Scale;
pub use matmul::MatMul;
pub use metric::{Auc, AucVars, Hits};
pub use norm::{BatchNorm, DataNorm, GroupNorm, LayerNorm};
pub use operators::Operand;
pub use pool::Pool;
pub use print::Print;
pub use reduce::Reduce;
pub use rnn::{Gru, Lstm, LstmStack, Lstmp};
pub use sampled::{Hsigmoid, Nce, SampledSoftmax, Sampler};
pub use sequence::{Im2Sequence, SequenceConv};
pub use shape::{Cut, Reshape};
pub use tagging::{ChunkEval, ChunkVars};

/// The declared layers, file by file.
pub(crate) const DECLARED: &[&[crate::declare::Declaration]] = &[
    activation::DECLARED,
    array::DECLARED,
    beam::DECLARED,
    compare::DECLARED,
    conv::DECLARED,
    data::DECLARED,
    detection::DECLARED,
    dropout::DECLARED,
    elementwise::DECLARED,
    embedding::DECLARED,
    fc::DECLARED,
    fill::DECLARED,
    image::DECLARED,
    index::DECLARED,
    loss::DECLARED,
    math::DECLARED,
    matmul::DECLARED,
    metric::DECLARED,
    norm::DECLARED,
    operators::DECLARED,
    pool::DECLARED,
    print::DECLARED,
    reduce::DECLARED,
    rnn::DECLARED,
    sampled::DECLARED,
    sequence::DECLARED,
    shape::DECLARED,
    tagging::DECLARED,
];
