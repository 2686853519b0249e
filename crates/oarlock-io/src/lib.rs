//! Files: tensors and parameters in the formats that move between systems; data sets to train on.
//!
//! This crate knows bytes and files. Of operators it knows those that read and write files; it knows no executor.
#![forbid(unsafe_code)]

mod checkpoint;
pub mod data;
mod inference;
mod inspect;
mod npz;
mod op;
mod pickle;
mod reader;
mod readers;
mod safetensors;
mod state;
mod store;
mod table;
mod tensor_stream;
mod vars;

pub use checkpoint::{Checkpoint, Checkpoints, Difference, Position, diff_checkpoints, first_intact};
pub use inference::{InferenceModel, ModelFiles, ModelTables, ParamFiles, TakeRows, declare_rows, find_model};
pub use inspect::{FileInfo, FileState, Inspection, VariableInfo, inspect};
pub use npz::{read_npy, read_npz, write_npz};
pub use op::ops;
pub use pickle::{Pickled, read_pickle, write_pickle};
pub use readers::{ReaderVar, TensorQueue, TensorReader};
pub use safetensors::{
    decode_safetensors, export_safetensors, import_safetensors, read_safetensors, write_safetensors,
};
pub use state::{load_program, read_program, read_state, save_program, set_state};
pub use store::{
    Local, MANIFEST, Manifest, Seal, Source, Staging, Step, Store, View, WriteFile, open_around, open_store,
};
pub use table::{TableFiles, TableForm, TableWriter, is_saved, read_table};
pub use tensor_stream::{decode_rows, decode_tensor, encode_tensor, write_rows, write_tensor};
pub use vars::{
    encode_vars, is_persistable, load_vars, load_vars_from_bytes, parameters, persistables, read_tensor_file,
    read_tensor_part, read_vars, save_vars, select, set_all, set_vars, stage_vars, write_tensor_file,
};
