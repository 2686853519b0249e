//! Predictions by a network that is built anew and filled with saved parameters.

use oarlock_exec::Scope;
use oarlock_io::{Store, load_vars, parameters};
use oarlock_ir::{Program, Result, clone_for_test};
use oarlock_tensor::Tensor;

use super::trainer::Batch;
use crate::{Executor, Net, Options, VarRef};

/// Predicts with saved parameters.
pub struct Inferencer {
    program: Program,
    output: VarRef,
    executor: Executor,
    scope: Scope,
}

impl Inferencer {
    /// Builds the network that computes what `build` returns, and loads its parameters: one file each, as
    /// [`Trainer::save_params`](super::Trainer::save_params) writes them.
    pub fn new(
        build: impl FnOnce(&mut Net) -> Result<VarRef>,
        params: &dyn Store,
        options: &Options,
    ) -> Result<Inferencer> {
        let mut net = Net::new();
        let output = build(&mut net)?;
        let program = clone_for_test(&net.main)?;
        let (executor, scope) = (options.executor(), Scope::new());
        load_vars(params, None, &parameters(&program), &scope)?;
        Ok(Inferencer { program, output, executor, scope })
    }

    /// Predicts from one batch.
    pub fn infer(&self, inputs: &Batch) -> Result<Tensor> {
        let feeds: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let mut found = self.executor.run_tensors(&self.program, &feeds, &[self.output.name()], &self.scope)?;
        Ok(found.remove(0))
    }
}
