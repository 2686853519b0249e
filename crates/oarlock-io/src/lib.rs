//! Files: tensors and parameters in the formats that move between systems; data sets to train on.
//!
//! This crate knows bytes and files. It knows no operator of the network and no executor.
#![forbid(unsafe_code)]

pub mod data;
mod reader;
mod tensor_stream;

pub use tensor_stream::{decode_rows, decode_tensor, encode_rows, encode_tensor, read_tensor_file, write_tensor_file};
