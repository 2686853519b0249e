//! Fluid-style training in Rust: networks as programs, gradients, optimizers, executors.
//!
//! [`Net`] builds programs: layers, operators on variables, learning-rate schedules. An [`optimizer`] adds what trains them, an
//! [`Executor`] runs them. Names, operators and their order are those of Fluid 1.8, so that programs and parameters can be
//! exchanged with it.
//!
//! This crate decides how programs are built; how they run is decided below it, and front ends only pass values through.
#![forbid(unsafe_code)]

mod backward;
mod call_site;
mod clip;
pub mod declare;
mod derived;
pub mod eager;
mod env;
mod executor;
pub mod fleet;
pub mod high_level;
mod initializer;
mod ints;
mod job;
mod layer;
pub mod layers;
pub mod lr;
pub mod metrics;
mod names;
pub mod nets;
mod network;
pub mod optimizer;
mod options;
mod param;
pub mod pipeline;
mod predictor;
pub mod prelude;
mod regularizer;
pub mod settings;
pub mod trainer;
mod var_ref;
mod weight_norm;

pub use backward::Backward;
pub use call_site::CallSite;
pub use derived::Derivation;
pub use env::{Options, check_environment, init_logging, model_tables_from_env};
pub use executor::Executor;
pub use initializer::Initializer;
pub use ints::{IntOrVar, Ints};
pub use job::{JobOptions, JobRuntime};
pub use layer::Act;
pub use names::UniqueNames;
pub use network::Net;
pub use param::{Param, ParamAttr, WeightNorm};
pub use pipeline::registry;
pub use predictor::Predictor;
pub use var_ref::VarRef;

pub use oarlock_collective as collective;
pub use oarlock_exec::{ExecOptions, Scope, Session, replicas};
pub use oarlock_io::{self as io, data};
pub use oarlock_ir::{self as ir, Clip, Decay, Error, Kind, Program, Registry, Result};
pub use oarlock_launch as launch;
pub use oarlock_net as net;
pub use oarlock_ps as ps;
pub use oarlock_tensor::{self as tensor, DType, Lod, Tensor};
pub use oarlock_transpile as transpile;
