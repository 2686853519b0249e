//! Programs: blocks of operators over named variables; how an operator is defined; passes that rewrite programs.
//!
//! This crate knows no concrete operator, no file and no network.
#![forbid(unsafe_code)]

mod attr;
mod error;
mod name;
mod op;
mod program;
mod var;

pub use attr::{Attr, Attrs};
pub use error::{Error, Kind, Place, Report, Result};
pub use name::Name;
pub use op::{EMPTY, Op, Role, Slots};
pub use program::{Block, FORMAT_VERSION, MemoryPlan, OpVersions, Program};
pub use var::{Clip, Decay, Dim, Shape, Var, VarDType, VarKind, VarMeta, VarType, product};
