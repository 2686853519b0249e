//! Optimizers: operators that update parameters, appended after the gradient.
//!
//! `minimize` appends the gradient of a loss, limits it, adds weight decay and updates every trainable parameter, in ascending order
//! of their names. What an optimizer remembers of a parameter is a variable `<parameter>_<kind>_<n>`.
//!
//! ```
//! # use oarlock::prelude::*;
//! # fn main() -> Result<()> {
//! let mut net = Net::new();
//! let x = net.data("x", Data::shape([13]))?;
//! let y = net.data("y", Data::shape([1]))?;
//! let predicted = net.fc(&x, Fc::size(1))?;
//! let cost = net.square_error_cost(&predicted, &y)?;
//! let loss = net.mean(&cost)?;
//! optimizer::adam(0.01).beta1(0.8).regularization(Decay::L2(1e-4)).minimize(&mut net, &loss)?;
//! # Ok(())
//! # }
//! ```

mod average;
mod dgc;
mod gradient_merge;
mod lookahead;
mod minimize;
mod pipeline;
mod recompute;
mod rule;
mod rules;
mod show_click;

use std::collections::{HashMap, HashSet};

use oarlock_ir::{Clip, Decay, Dim, Error, Kind, Name, Op, Result, Role, Var, VarKind, VarType};

pub use average::{ExponentialMovingAverage, ModelAverage};
pub use dgc::DgcMomentum;
pub use gradient_merge::GradientMerge;
pub use lookahead::Lookahead;
pub use minimize::Minimize;
pub use pipeline::{Pipeline, PipelineOptions};
pub use recompute::Recompute;
pub use rule::{Advance, Rule, State};
pub use rules::*;

use crate::backward::Backward;
use crate::clip::NeedClip;
use crate::layers::GlobalVar;
use crate::lr::LearningRate;
use crate::{Initializer, Net, VarRef};

/// A parameter and its gradient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamGrad {
    /// The parameter.
    pub param: VarRef,
    /// Its gradient.
    pub grad: VarRef,
}

impl ParamGrad {
    /// The names of both, as operators carry them.
    pub(crate) fn names(&self) -> Vec<String> {
        vec![self.param.name().to_string(), self.grad.name().to_string()]
    }
}

/// An optimizer: a [`Rule`] with a learning rate, limits and weight decay, and the variables it made.
pub struct Optimizer<R> {
    /// How a parameter is updated.
    pub rule: R,
    learning_rate: LearningRate,
    parameter_list: Option<Vec<Name>>,
    no_grad_set: HashSet<Name>,
    regularization: Option<Decay>,
    grad_clip: Option<Clip>,
    need_clip: Option<Box<NeedClip>>,
    name: Option<String>,
    /// The rate's variable, by the id of the program.
    rates: HashMap<u64, VarRef>,
    /// Optimizer state, by kind and parameter.
    states: HashMap<(&'static str, Name), VarRef>,
}

impl<R: Rule> Optimizer<R> {
    /// Of a rule.
    pub fn new(rule: R, learning_rate: impl Into<LearningRate>) -> Optimizer<R> {
        Optimizer {
            rule,
            learning_rate: learning_rate.into(),
            parameter_list: None,
            no_grad_set: HashSet::new(),
            regularization: None,
            grad_clip: None,
            need_clip: None,
            name: None,
            rates: HashMap::new(),
            states: HashMap::new(),
        }
    }

    /// Updates only these parameters.
    #[must_use]
    pub fn parameter_list(mut self, params: &[&VarRef]) -> Optimizer<R> {
        self.parameter_list = Some(params.iter().map(|p| p.name().clone()).collect());
        self
    }

    /// Lets no gradient flow into these variables.
    #[must_use]
    pub fn no_grad_set(mut self, vars: &[&VarRef]) -> Optimizer<R> {
        self.no_grad_set = vars.iter().map(|v| v.name().clone()).collect();
        self
    }

    /// Weight decay of parameters that have none of their own.
    #[must_use]
    pub fn regularization(mut self, decay: Decay) -> Optimizer<R> {
        self.regularization = Some(decay);
        self
    }

    /// A limit on gradients.
    #[must_use]
    pub fn grad_clip(mut self, clip: Clip) -> Optimizer<R> {
        self.grad_clip = Some(clip);
        self
    }

    /// The limit holds only for parameters of which `need` is true.
    #[must_use]
    pub fn need_clip(mut self, need: impl Fn(&str) -> bool + Send + Sync + 'static) -> Optimizer<R> {
        self.need_clip = Some(Box::new(need));
        self
    }

    /// A name that what it remembers carries.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Optimizer<R> {
        self.name = Some(name.into());
        self
    }

    /// Appends the gradient of a loss and the updates of all its parameters; returns the parameters with the gradients that were
    /// computed for them.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        let pairs = self.backward(net, loss)?;
        self.apply_gradients(net, pairs.clone())?;
        Ok(pairs)
    }

    /// The first half of `minimize`: appends the gradient of a loss.
    #[track_caller]
    pub fn backward(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        self.backward_from(net, loss, &[])
    }

    /// Appends the gradient of a loss that keeps only checkpoints, if there are any, and computes the rest again.
    fn backward_with(&self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        let ty = net.var(loss)?.ty();
        if *ty.shape != [Dim::Is(1)] {
            let what = format!("a loss to minimize is one number, but `{loss}` is {ty}");
            return Err(Error::new(Kind::Shape, what)
                .help(format!("take the mean of it, as in mean({loss}), and minimize that")));
        }
        let frozen = net.main.parameters().filter(|p| !p.meta.trainable).map(|p| p.name.clone());
        let stopped = self.no_grad_set.iter().cloned().chain(frozen).collect();
        let checkpoints = checkpoints.iter().map(|v| v.name().clone()).collect();
        let options = Backward::new().parameter_list(self.parameter_list.clone());
        net.append_backward(loss, options.no_grad_set(stopped).checkpoints(checkpoints))
    }

    /// The second half of `minimize`: limits gradients, adds weight decay, updates parameters.
    #[track_caller]
    pub fn apply_gradients(&mut self, net: &mut Net, mut pairs: Vec<ParamGrad>) -> Result<()> {
        net.located(|net| {
            pairs.sort_by(|a, b| a.param.name().cmp(b.param.name()));
            let pairs = self.limit_and_decay(net, pairs)?;
            let pairs = net.append_shows(pairs, self.regularization)?;
            self.append_updates(net, &pairs)
        })
    }

    fn limit_and_decay(&self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<Vec<ParamGrad>> {
        let pairs = match &self.grad_clip {
            Some(clip) => net.clip_gradients(pairs, clip, self.need_clip.as_deref())?,
            None => net.clip_gradients_of_params(pairs)?,
        };
        net.append_regularization(pairs, self.regularization)
    }

    fn append_updates(&mut self, net: &mut Net, pairs: &[ParamGrad]) -> Result<()> {
        for pair in pairs {
            self.check_rows(net, pair)?;
            self.make_states(net, &pair.param)?;
        }
        self.append_update_ops(net, pairs, |_, op| op)?;
        if let Some(advance) = self.rule.advance() {
            for pair in pairs {
                let state = self.state(advance.kind, &pair.param)?;
                let op = Op::new("scale").input("X", [&state]).output("Out", [&state]);
                let op = op.attr("scale", advance.factor as f32);
                let append = |net: &mut Net| net.name_scope(advance.scope, |net| net.append_op(op));
                net.with_role(Role::OPTIMIZE, pair.names(), append)?;
            }
        }
        Ok(())
    }

    /// Says at once what the operator of the rule, perhaps on a server, would say in the first step.
    fn check_rows(&self, net: &Net, pair: &ParamGrad) -> Result<()> {
        let rule = self.rule.op_type();
        if net.var(&pair.param)?.meta.is_distributed && !self.rule.trains_rows_alone() {
            let what = format!("`{}` is a hashed table, whose rows `{rule}` cannot update one by one", pair.param);
            return Err(Error::new(Kind::Unsupported, what)
                .help("set is_distributed=False, or use sgd, momentum, adam, adagrad, rmsprop or ftrl"));
        }
        if net.var(&pair.grad)?.kind == VarKind::SelectedRows && !self.rule.takes_rows() {
            let what = format!("the gradient of `{}` is row-sparse, which `{rule}` does not take", pair.param);
            return Err(Error::new(Kind::Unsupported, what).help(
                "set is_sparse=False on the embedding, or use sgd, momentum, adam, adagrad, rmsprop, ftrl or lamb",
            ));
        }
        Ok(())
    }

    /// Declares what is remembered of a parameter, unless it was declared before.
    fn make_states(&mut self, net: &mut Net, param: &VarRef) -> Result<()> {
        for state in self.rule.states() {
            let key = (state.kind, param.name().clone());
            if !self.states.contains_key(&key) {
                let kind = self.name.as_ref().map_or(state.kind.to_string(), |n| format!("{n}_{}", state.kind));
                let var = net.make_state(param, &kind, &state)?;
                self.states.insert(key, var);
            }
        }
        Ok(())
    }

    fn state(&self, kind: &'static str, param: &VarRef) -> Result<VarRef> {
        let found = self.states.get(&(kind, param.name().clone())).cloned();
        found.ok_or_else(|| Error::internal(format!("{kind} of `{param}` was not declared")))
    }

    /// The variable of the learning rate in the current program.
    fn make_rate(&mut self, net: &mut Net) -> Result<VarRef> {
        let program = net.main.id();
        if let Some(rate) = self.rates.get(&program) {
            return Ok(rate.clone());
        }
        let rate = match &self.learning_rate {
            LearningRate::Var(rate) => rate.clone(),
            LearningRate::Value(value) => {
                let name = net.names.generate("learning_rate");
                let options = GlobalVar::new([1], *value, oarlock_tensor::DType::F32).persistable(true);
                net.named(name).create_global_var(options)?
            }
        };
        self.rates.insert(program, rate.clone());
        Ok(rate)
    }

    /// The learning rate of a parameter: the optimizer's, times the parameter's factor.
    fn rate_of(&mut self, net: &mut Net, param: &VarRef) -> Result<VarRef> {
        let rate = self.make_rate(net)?;
        let factor = net.var(param)?.meta.learning_rate;
        if factor == 1.0 {
            return Ok(rate);
        }
        let role = Role::LR_SCHED.and(Role::OPTIMIZE);
        let scaled = |net: &mut Net| net.name_scope("scale_with_param_lr", |net| net.times(&rate, f64::from(factor)));
        net.with_role(role, Vec::new(), scaled)
    }

    /// Appends the operators that update parameters whose states are there, as `change` wants them.
    fn append_update_ops(
        &mut self,
        net: &mut Net,
        pairs: &[ParamGrad],
        change: impl Fn(&ParamGrad, Op) -> Op,
    ) -> Result<()> {
        self.make_rate(net)?;
        for pair in pairs {
            if net.var(&pair.param)?.meta.trainable {
                let update = |net: &mut Net| {
                    let op = self.update_op(net, pair)?;
                    net.append_op(change(pair, op))
                };
                net.with_role(Role::OPTIMIZE, pair.names(), |net| net.name_scope("optimizer", update))?;
            }
        }
        Ok(())
    }

    fn update_op(&mut self, net: &mut Net, pair: &ParamGrad) -> Result<Op> {
        let mut op = Op::new(self.rule.op_type()).input("Param", [&pair.param]).input("Grad", [&pair.grad]);
        op = op.output("ParamOut", [&pair.param]);
        for state in self.rule.states() {
            let var = self.state(state.kind, &pair.param)?;
            op = op.input(state.slot, [&var]);
            if let Some(out) = state.out {
                op = op.output(out, [&var]);
            }
        }
        if self.rule.reads_rate() {
            op = op.input("LearningRate", [&self.rate_of(net, &pair.param)?]);
        }
        for (name, value) in self.rule.attrs(pair.param.name()) {
            op.attrs.set(name, value);
        }
        Ok(op)
    }
}

impl<R: Rule> Minimize for Optimizer<R> {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.rates.get(&net.main.id())
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        self.backward_with(net, loss, checkpoints)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        self.apply_gradients(net, pairs)
    }
}

impl Net {
    /// Declares a variable `<param>_<kind>_<n>` of both programs.
    fn make_state(&mut self, param: &VarRef, kind: &str, state: &State) -> Result<VarRef> {
        let name = self.names.generate(&format!("{param}_{kind}"));
        let mut ty = self.var(param)?.ty().with_kind(VarKind::Tensor);
        if let Some(dtype) = state.dtype {
            ty = ty.with_dtype(dtype);
        }
        if state.single {
            ty = VarType::tensor(ty.dtype, vec![Dim::Is(1)]);
        }
        let mut var = Var::new(name, ty);
        // What is kept for the rows of a table lies beside them.
        var.meta.is_distributed = !state.single && self.var(param)?.meta.is_distributed;
        self.global(var, &Initializer::constant(state.first))
    }
}
