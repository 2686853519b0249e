//! Eager mode: layers, operators and optimizers that run when they are called.
//!
//! The engine is that of [`oarlock_exec::eager`]: the kernels and gradients of programs. A layer is built into a program of its own
//! whose operators then run one by one ([`layer`]); an optimizer is the program of its updates, compiled once ([`optimizer`]).
//!
//! ```
//! use oarlock::eager::{self, BackwardOptions};
//! use oarlock::prelude::*;
//! use oarlock::tensor::Tensor;
//! # fn main() -> Result<()> {
//! let engine = eager::engine(1);
//! let x = engine.tensor(Tensor::scalar(3.0f32));
//! x.set_stop_gradient(false);
//! let y = engine.build("square").input("X", &x).get("Out")?;
//! engine.backward(&[(y, None)], BackwardOptions::default())?;
//! let gradient = x.grad().map(|g| g.with_dense(|t| t.to_f64())).transpose()?;
//! assert_eq!(gradient, Some(vec![6.0]));
//! # Ok(())
//! # }
//! ```

mod layer;
mod optimizer;
mod parallel;

use std::sync::Arc;

pub use oarlock_exec::eager::{
    Args, BackwardOptions, Call, CustomGradient, EagerEngine, EagerTensor, FindSite, Hook, LeafGradient, OpHandle,
    ProgramFunction, Results, SlotResults, Target, Traced,
};

pub use layer::{LayerCalls, Made, argument, run_program_once};
pub use optimizer::{EagerOptimizer, MakeOptimizer, ParamGrad};
pub use parallel::{all_reduce_tensors, broadcast_tensors};

/// An engine with all operators, of `threads` compute threads.
pub fn engine(threads: usize) -> EagerEngine {
    EagerEngine::new(Arc::new(crate::registry()), Arc::new(oarlock_ir::Runtime::new(threads)))
}
