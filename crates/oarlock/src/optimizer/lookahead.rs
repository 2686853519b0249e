//! Lookahead: slow weights that follow the fast ones every few steps.

use oarlock_ir::{Kind, Op, Result, Var, fail};
use oarlock_tensor::DType;

use super::{Minimize, ParamGrad};
use crate::layers::{Elementwise, GlobalVar, Switch};
use crate::{Net, VarRef};

/// `LookaheadOptimizer(inner_optimizer, alpha=0.5, k=5)`: every `k` steps of the inner optimizer, parameters go back to a mean of
/// where they were and where they are.
pub struct Lookahead<O> {
    inner: O,
    alpha: f64,
    k: i32,
}

impl<O: Minimize> Lookahead<O> {
    /// Around an optimizer.
    pub fn new(inner: O, alpha: f64, k: i32) -> Result<Lookahead<O>> {
        if !(0.0..=1.0).contains(&alpha) || k < 1 {
            fail!(
                Kind::Argument,
                "lookahead needs alpha between 0 and 1 and k of at least 1, but they are {alpha} and {k}"
            );
        }
        Ok(Lookahead { inner, alpha, k })
    }

    /// Appends the gradient of a loss, the inner optimizer's updates, and the slow weights'.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        Minimize::minimize(self, net, loss)
    }

    fn append_slow(&self, net: &mut Net) -> Result<()> {
        let weights = slow_weights(net)?;
        let var = |value: f64, dtype: DType| GlobalVar::new([1], value, dtype).persistable(true);
        let k = net.named("lookahead_k").create_global_var(var(self.k.into(), DType::I32))?;
        let alpha = net.named("lookahead_alpha").create_global_var(var(self.alpha, DType::F32))?;
        let step = net.named("lookahead_step").create_global_var(var(0.0, DType::I32))?;
        net.increment(&step, 1.0)?;
        let zero = net.fill_constant([1], DType::F32, 0.0)?;
        let one = net.fill_constant([1], DType::F32, 1.0)?;
        let remainder = net.elementwise_mod(&step, &k, Elementwise::new())?;
        let due = net.eq(&remainder, &zero)?;
        let mut switch = Switch::new();
        switch
            .case(net, &due, |net| weights.iter().try_for_each(|(fast, slow)| follow(net, fast, slow, &alpha, &one)))?;
        switch.default_case(net, |_| Ok(()))
    }
}

impl<O: Minimize> Minimize for Lookahead<O> {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.inner.learning_rate_var(net)
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        self.inner.backward_from(net, loss, checkpoints)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        self.inner.apply_gradients(net, pairs)?;
        net.located(|net| self.append_slow(net))
    }
}

/// Declares the slow weight of every parameter; it starts where the parameter does.
fn slow_weights(net: &mut Net) -> Result<Vec<(VarRef, VarRef)>> {
    let params: Vec<Var> = net.main.parameters().cloned().collect();
    let mut weights = Vec::new();
    for param in params {
        let fast = VarRef::new(&param.name, 0);
        let mut slow = Var::new(format!("{}@SLOW", param.name), param.ty());
        slow.persistable = true;
        net.startup.global_mut().set_var(slow.clone());
        let name = slow.name.clone();
        net.main.global_mut().set_var(slow);
        let slow = VarRef::new(name, 0);
        net.append_to_startup(Op::new("assign").input("X", [&fast]).output("Out", [&slow]))?;
        weights.push((fast, slow));
    }
    Ok(weights)
}

/// `slow = fast = alpha * fast + (1 - alpha) * slow`
fn follow(net: &mut Net, fast: &VarRef, slow: &VarRef, alpha: &VarRef, one: &VarRef) -> Result<()> {
    let plain = Elementwise::new;
    let from_fast = net.elementwise_mul(fast, alpha, plain())?;
    let rest = net.elementwise_sub(one, alpha, plain())?;
    let from_slow = net.elementwise_mul(slow, &rest, plain())?;
    let mean = net.elementwise_add(&from_fast, &from_slow, plain())?;
    net.assign_into(&mean, slow)?;
    net.assign_into(&mean, fast)
}
