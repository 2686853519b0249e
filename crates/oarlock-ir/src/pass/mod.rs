//! Passes: one file each. A pass takes a program and changes it, or makes a new one; it knows no concrete operator.

mod backward;
mod blocks;
mod clone_for_test;
mod memory;
mod prune;
mod run;

pub use backward::{AfterGradientOp, BackwardOptions, GradientTargets, append_backward, gradients};
pub use clone_for_test::clone_for_test;
pub use memory::{MemoryOptions, memory_optimize, release_memory};
pub use prune::prune;
pub use run::PassRun;
