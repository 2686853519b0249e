//! Files: tensors and parameters in the formats that move between systems; data sets to train on.
//!
//! This crate knows bytes and files. Of operators it knows those that read and write files; it knows no executor.
#![forbid(unsafe_code)]

mod checkpoint;
pub mod dataset;
mod format;
mod model;
mod reader_op;
mod store;
pub mod wal;

use oarlock_ir::OpDef;

pub use checkpoint::{Checkpoint, Checkpoints, Difference, Position, diff_checkpoints, first_intact};
/// The name under which users of `oarlock` know the data sets.
pub use dataset as data;
pub use format::npz::{read_npy, read_npz, write_npz};
pub use format::pickle::{Pickled, read_pickle, write_pickle};
pub use format::safetensors::{decode_safetensors, write_safetensors};
pub use format::tensor_stream::{decode_rows, decode_tensor, encode_tensor, write_rows, write_tensor};
pub use model::inference::{InferenceModel, ModelFiles, ModelTables, ParamFiles, TakeRows, declare_rows, find_model};
pub use model::inspect::{FileInfo, FileState, Inspection, VariableInfo, inspect};
pub use model::safetensors_vars::{export_safetensors, import_safetensors, read_safetensors};
pub use model::state::{load_program, read_program, read_state, save_program, set_state};
pub use model::table_files::{TableFiles, TableForm, TableWriter, is_saved, read_table};
pub use model::vars::{
    encode_vars, is_persistable, load_vars, load_vars_from_bytes, parameters, persistables, read_tensor_file,
    read_tensor_part, read_vars, save_vars, select, set_all, set_vars, stage_vars, write_tensor_file,
};
pub use reader_op::{ReaderVar, TensorQueue, TensorReader};
pub use store::{
    DiskStep, Local, MANIFEST, Manifest, Seal, Staging, Store, StoredFile, View, WriteFile, open_around, open_store,
};

/// The operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    model::file_ops::OPS.into_iter().chain(reader_op::OPS)
}
