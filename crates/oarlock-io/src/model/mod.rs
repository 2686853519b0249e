//! Programs and their variables in files: inference models, parameters, training states, hashed tables, and the
//! operators `save` and `load`.
//!
//! These modules know which file holds which variable. The bytes of a file are the matter of [`format`](crate::format),
//! and its place that of [`store`](crate::store).

pub(crate) mod file_ops;
pub(crate) mod inference;
pub(crate) mod inspect;
pub(crate) mod safetensors_vars;
pub(crate) mod state;
pub(crate) mod table_files;
pub(crate) mod vars;
