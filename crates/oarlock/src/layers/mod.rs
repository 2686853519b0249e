//! Layers: methods of [`Net`](crate::Net) that append operators, one file per family, with the options they take and
//! the declarations from which Python's functions are made. Arguments, defaults, operators and names of variables are
//! Fluid's.
//!
//! This list of files is written by `cargo xtask codegen`; do not edit.

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

pub use beam::*;
pub use cell::*;
pub use compare::*;
pub use control::*;
pub use conv::*;
pub use data::*;
pub use decode::*;
pub use detection::*;
pub use dropout::*;
pub use elementwise::*;
pub use embedding::*;
pub use fc::*;
pub use image::*;
pub use loss::*;
pub use math::*;
pub use matmul::*;
pub use metric::*;
pub use norm::*;
pub use operators::*;
pub use pool::*;
pub use print::*;
pub use reduce::*;
pub use rnn::*;
pub use sampled::*;
pub use sequence::*;
pub use shape::*;
pub use tagging::*;

/// The declared layers, file by file.
pub(crate) const DECLARED: &[&[crate::declare::Declaration]] = &[
    activation::DECLARED,
    array::DECLARED,
    beam::DECLARED,
    compare::DECLARED,
    conv::DECLARED,
    data::DECLARED,
    detection::anchors::DECLARED,
    detection::boxes::DECLARED,
    detection::deformable::DECLARED,
    detection::fpn::DECLARED,
    detection::map::DECLARED,
    detection::masks::DECLARED,
    detection::matching::DECLARED,
    detection::multi_box::DECLARED,
    detection::nms::DECLARED,
    detection::retinanet::DECLARED,
    detection::roi::DECLARED,
    detection::rpn::DECLARED,
    detection::ssd::DECLARED,
    detection::yolo::DECLARED,
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
