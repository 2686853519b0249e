//! Gradient merge: updates from the gradients of several batches.

use oarlock_ir::{Kind, Op, Result, Role, Var, VarKind, fail};
use oarlock_tensor::DType;

use super::{Minimize, ParamGrad};
use crate::layers::{CondBlock, Elementwise, GlobalVar};
use crate::{Initializer, Net, VarRef};

/// `GradientMergeOptimizer(inner_optimizer, k_steps=1, avg=True)`: adds up the gradients of `k_steps` batches and updates
/// parameters then, as if the batches had been one.
///
/// A gradient is summed up in `<param>@GRAD@GradientMerge`. What the inner optimizer appends (limits, weight decay, updates) runs
/// in a conditional block of every `k_steps`-th run. A learning-rate schedule outside of it still counts runs, not updates.
pub struct GradientMerge<O> {
    inner: O,
    k_steps: i32,
    avg: bool,
}

impl<O: Minimize> GradientMerge<O> {
    /// Around an optimizer: updates every `k_steps` runs by the mean of the gradients.
    pub fn new(inner: O, k_steps: i32) -> Result<GradientMerge<O>> {
        if k_steps < 1 {
            fail!(Kind::Argument, "gradient merge needs k_steps of at least 1, but it is {k_steps}");
        }
        Ok(GradientMerge { inner, k_steps, avg: true })
    }

    /// Update by the mean of the gradients, or by their sum?
    #[must_use]
    pub fn avg(mut self, avg: bool) -> GradientMerge<O> {
        self.avg = avg;
        self
    }

    /// Appends the gradient of a loss, its sum over batches, and the inner optimizer's updates.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        Minimize::minimize(self, net, loss)
    }

    fn append_merged(&mut self, net: &mut Net, pairs: &[ParamGrad]) -> Result<()> {
        let mut merged = Vec::new();
        for pair in pairs {
            let add = |net: &mut Net| add_up(net, pair);
            merged.push(net.with_role(Role::OPTIMIZE, pair.names(), add)?);
        }
        let due = net.with_role(Role::OPTIMIZE, Vec::new(), |net| self.due(net))?;
        let block = net.with_role(Role::OPTIMIZE, Vec::new(), |net| CondBlock::when(net, &due))?;
        let update = |net: &mut Net| block.block(net, |net| self.append_due(net, &merged));
        net.with_role(Role::OPTIMIZE, Vec::new(), update)
    }

    /// Counts runs; is it time to update?
    fn due(&self, net: &mut Net) -> Result<VarRef> {
        let var = |value: i32| GlobalVar::new([1], value.into(), DType::I32).persistable(true).force_cpu(true);
        let k = net.named("gradient_merge_k").create_global_var(var(self.k_steps))?;
        let zero = net.named("gradient_merge_zero").create_global_var(var(0))?;
        let step = net.named("gradient_merge_step").create_global_var(var(0))?;
        net.increment(&step, 1.0)?;
        let turn = net.elementwise_mod(&step, &k, Elementwise::new())?;
        net.assign_into(&turn, &step)?;
        net.eq(&step, &zero)
    }

    /// Appends the work of the last batch of a group: update, and begin a new sum.
    fn append_due(&mut self, net: &mut Net, merged: &[ParamGrad]) -> Result<()> {
        if self.avg {
            let share = 1.0 / self.k_steps as f32;
            for pair in merged {
                let op = Op::new("scale").input("X", [&pair.grad]).output("Out", [&pair.grad]).attr("scale", share);
                net.with_role(Role::OPTIMIZE, pair.names(), |net| net.append_op(op))?;
            }
        }
        self.inner.apply_gradients(net, merged.to_vec())?;
        for pair in merged {
            let ty = net.var(&pair.grad)?.ty();
            let op = Op::new("fill_constant").output("Out", [&pair.grad]).attr("shape", ty.shape.to_i64());
            let op = op.attr("dtype", ty.dtype.proto()).attr("value", 0.0f32);
            net.with_role(Role::OPTIMIZE, pair.names(), |net| net.append_op(op))?;
        }
        Ok(())
    }
}

impl<O: Minimize> Minimize for GradientMerge<O> {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.inner.learning_rate_var(net)
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        self.inner.backward_from(net, loss, checkpoints)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        net.located(|net| self.append_merged(net, &pairs))
    }
}

/// Adds a gradient to its sum over batches. The sum is dense also if the gradient has few rows.
fn add_up(net: &mut Net, pair: &ParamGrad) -> Result<ParamGrad> {
    let ty = net.var(&pair.param)?.ty().with_kind(VarKind::Tensor);
    let mut sum = Var::new(format!("{}@GRAD@GradientMerge", pair.param), ty);
    sum.meta.stop_gradient = true;
    let sum = net.global(sum, &Initializer::constant(0.0))?;
    net.append_op(Op::new("sum").input("X", [&sum, &pair.grad]).output("Out", [&sum]))?;
    Ok(ParamGrad { param: pair.param.clone(), grad: sum })
}
