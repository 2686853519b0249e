//! Programs: blocks of operators over named variables; how an operator is defined; passes that rewrite programs.
//!
//! This crate knows no concrete operator, no file and no network.
#![forbid(unsafe_code)]

mod attr;
mod attr_view;
mod build;
mod carry;
mod def;
mod diff;
mod error;
mod frame;
mod fusion;
mod grad;
mod gradient_op;
mod infer;
mod kernel;
mod name;
mod next_batch;
mod op;
mod pass;
mod program;
mod proto;
mod protobuf;
mod registry;
mod replica;
mod runtime;
mod text;
mod var;
mod verify;

pub use attr::{Attr, Attrs};
pub use attr_view::AttrView;
pub use build::{append_op, infer, insert_op};
pub use carry::{Explicit, UnknownInside};
pub use def::{AttrSig, COMMON_ATTRS, OpDef, Port, Sig, SlotSig, SparseUpdate, Traits, nearest};
pub use diff::diff;
pub use error::{Error, Kind, Place, Report, Result};
pub use frame::{Cell, Frame, SharedVar, Vars};
pub use fusion::{FuseBlock, Fusion, Pattern, Replacement};
pub use grad::{GRAD, Grad, grad_name};
pub use gradient_op::GradOp;
pub use infer::Infer;
pub use kernel::{BlockRef, BlockRunner, In, Io, Kernel, Layout, OpNames, Out, Prepare, checked_kernel, kernel};
pub use name::Name;
pub use next_batch::{NextBatch, NextBatches};
pub use op::{EMPTY, Mark, Op, Role, Slots};
pub use pass::{
    AfterGradientOp, BackwardOptions, GradientTargets, MemoryOptions, PassRun, append_backward, clone_for_test,
    gradients, memory_optimize, prune, release_memory,
};
pub use program::{Block, FORMAT_VERSION, MemoryPlan, OpVersions, Program};
pub use registry::{Entry, Registry};
pub use replica::{Replica, ReplicaSums};
pub use runtime::{Runtime, Slot};
pub use var::{Clip, Decay, Dim, Shape, Var, VarDType, VarKind, VarMeta, VarType, product};
pub use verify::{KnowsOp, verify};
