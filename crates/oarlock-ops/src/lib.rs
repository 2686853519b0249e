//! Oarlock's operators: one file each under `op/` with signature, inference, kernel, gradient, documentation and test;
//! and its fusions: one file each under `fusion/` with pattern, legality, kernel and test.
//!
//! This crate does no input or output and knows no executor.
#![forbid(unsafe_code)]

mod arith;
mod blocks;
mod broadcast;
mod class_rows;
mod classes;
mod clipping;
mod compare;
mod control;
mod conv;
mod crf;
mod cropping;
mod diagonal;
mod elementwise;
mod fill;
mod fusion;
mod gru_cell;
mod inset;
mod int_list;
mod interp;
mod ints;
mod linear;
mod lookup;
mod losses;
mod lstm_cell;
mod matrix;
mod mirror;
mod number;
mod one_hot;
mod op;
mod optimize;
mod order;
mod pick;
mod pieces;
mod pooled;
mod pooling;
mod random;
mod recurrent;
mod reduce;
mod reform;
mod refused;
mod rows;
mod samplers;
mod second;
mod segments;
mod sequence;
mod shuffle;
mod sliding;
mod special;
mod stripe;
mod table;
#[cfg(test)]
mod testing;
mod tile;
mod total;
mod unary;
mod uniques;
mod view;
mod window;

use oarlock_ir::{Fusion, OpDef};

pub use refused::{REFUSED, Refused, refused};

/// All operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    op::ALL.iter().flat_map(|file| file.iter().copied())
}

/// All fusions of this crate; their order means nothing.
pub fn fusions() -> impl Iterator<Item = &'static dyn Fusion> {
    fusion::ALL.iter().flat_map(|file| file.iter().copied())
}
