//! Gradients of what was built.

use std::collections::HashSet;

use oarlock_ir::{
    AfterGradientOp, BackwardOptions, GradientTargets, Kind, Name, Result, append_backward, fail, gradients,
};

use crate::clip::clip_errors;
use crate::optimizer::ParamGrad;
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `append_backward(loss, parameter_list=None, no_grad_set=None, checkpoints=None)`
    Backward::new() {
        /// The parameters to differentiate by; `None` for all that are trainable.
        parameter_list: Option<Vec<Name>> = None,
        /// Variables into which no gradient flows.
        no_grad_set: HashSet<Name> = HashSet::new(),
        /// Variables to keep; what lies between them is computed again when its gradient is due. Empty to keep everything.
        checkpoints: Vec<Name> = Vec::new(),
    }
}

impl Net {
    /// `fluid.backward.append_backward`: appends the gradient of a loss; returns parameters with their gradients.
    pub fn append_backward(&mut self, loss: &VarRef, options: Backward) -> Result<Vec<ParamGrad>> {
        if self.block() != 0 {
            fail!(Kind::Unsupported, "a loss can be differentiated in block 0 only, not inside control flow");
        }
        let clips = self.error_clips.clone();
        let after_op: &AfterGradientOp<'_> =
            &|program, block, variables| clip_errors(&clips, program, block, variables);
        let options = BackwardOptions {
            parameter_list: options.parameter_list,
            no_grad_set: options.no_grad_set,
            after_op: (!clips.is_empty()).then_some(after_op),
            checkpoints: &options.checkpoints,
        };
        let registry = self.registry().clone();
        let pairs = append_backward(&mut self.main, (0, loss.name()), &registry, &options)?;
        let pair = |(p, g)| ParamGrad { param: VarRef::new(p, 0), grad: VarRef::new(g, 0) };
        Ok(pairs.into_iter().map(pair).collect())
    }

    /// `fluid.gradients(targets, inputs, target_gradients=None, no_grad_set=None)`: appends the gradient of variables by others;
    /// `None` for an input without influence. Without `target_gradients`, each target receives ones.
    pub fn gradients(
        &mut self,
        targets: &[&VarRef],
        inputs: &[&VarRef],
        target_gradients: Option<&[Option<VarRef>]>,
        no_grad_set: &HashSet<Name>,
    ) -> Result<Vec<Option<VarRef>>> {
        let block = self.block();
        let names = |vars: &[&VarRef]| -> Vec<Name> { vars.iter().map(|v| v.name().clone()).collect() };
        let received: Vec<Option<Name>> =
            target_gradients.unwrap_or_default().iter().map(|g| g.as_ref().map(|g| g.name().clone())).collect();
        let targets = names(targets);
        let targets = GradientTargets { block, names: &targets, gradients: &received };
        let registry = self.registry().clone();
        let found = gradients(&mut self.main, &targets, &names(inputs), no_grad_set, &registry)?;
        Ok(found.into_iter().map(|g| g.map(|g| VarRef::new(g, block))).collect())
    }
}
