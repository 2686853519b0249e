//! Bytes of file formats: tensors, arrays, pickles, records, compressed blocks.
//!
//! These modules turn bytes into values and back. They never trust a length or an offset that a file gives. They know
//! neither stores nor programs, and they do not decide where a file is.

pub(crate) mod cursor;
mod dtype_names;
pub(crate) mod npz;
pub(crate) mod pickle;
pub mod recordio;
pub(crate) mod safetensors;
pub(crate) mod tensor_stream;
pub(crate) mod zstd;
