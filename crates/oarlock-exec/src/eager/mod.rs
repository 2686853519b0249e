//! Eager mode: operators run when they are called, and gradients follow what was called.
//!
//! There is no second set of kernels: a call prepares an operator's own kernel once for each combination of attributes, dtypes and
//! arguments ([`variant`]), and gradients come from `OpDef::grad`, asked once per combination ([`grad_plan`]). [`EagerEngine`] runs calls
//! and records them; [`backward`] goes back through the record. Values are shared and never changed while shared ([`memory`]).

mod args;
mod backward;
mod eager_engine;
mod grad_plan;
mod memory;
mod node;
mod program;
mod tensor;
mod trace;
mod variant;

pub use args::{Args, Call, Results, SlotResults, Target};
pub use backward::{BackwardOptions, LeafGradient};
pub use eager_engine::{EagerEngine, FindSite};
pub use node::{CustomGradient, Hook};
pub use program::ProgramFunction;
pub use tensor::EagerTensor;
pub use trace::Traced;
pub use variant::OpHandle;
