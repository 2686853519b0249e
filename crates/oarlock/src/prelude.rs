//! The imports of most programs: `use oarlock::prelude::*;`.

pub use crate::layers::*;
pub use crate::optimizer::{self, Optimizer};
pub use crate::{
    Act, Clip, DType, Decay, Error, Executor, Initializer, IntOrVar, Ints, Net, Options, Param, ParamAttr, Program,
    Result, Scope, Tensor, UniqueNames, VarRef,
};
