//! Optimizers of eager parameters.
//!
//! The updates of a set of parameters are a program, made by the optimizer that programs use and compiled once: decay, limits and
//! fusions are the same. For a step the values of parameters and gradients move into the variables of the program and back.

use oarlock_exec::eager::{EagerEngine, EagerTensor};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Error, Kind, Name, Program, Result, Var, VarKind, VarMeta, fail, grad_name};
use oarlock_tensor::{Tensor, Value};

use crate::optimizer::{self, Minimize, Optimizer, Rule};
use crate::{Net, UniqueNames, VarRef};

/// A parameter with its gradient, and what the optimizer must know of it.
pub struct ParamGrad {
    /// The parameter; it has a name.
    pub param: EagerTensor,
    /// Its gradient.
    pub grad: EagerTensor,
    /// Learning rate factor, decay and limit of its own.
    pub meta: VarMeta,
}

/// Makes a fresh optimizer of the same settings: each set of parameters has a program of its own.
pub type MakeOptimizer = Box<dyn Fn() -> Result<Optimizer<Box<dyn Rule>>> + Send + Sync>;

/// An optimizer of eager parameters, with its state.
pub struct EagerOptimizer {
    make: MakeOptimizer,
    executor: Executor,
    /// State of the optimizer, by name. Parameters and gradients are here during a step only.
    scope: Scope,
    programs: Vec<Updates>,
    /// State that was loaded before it was made.
    loaded: Vec<(Name, Value)>,
    rate: f64,
}

/// The updates of one set of parameters.
struct Updates {
    /// Names, kinds of gradients, decay and limits.
    key: Vec<(Name, VarKind, VarMeta)>,
    program: Program,
    rate: Option<Name>,
    states: Vec<Name>,
}

impl EagerOptimizer {
    /// An optimizer that `make` describes, with a learning rate.
    pub fn new(engine: &EagerEngine, make: MakeOptimizer, rate: f64) -> EagerOptimizer {
        let options = ExecOptions {
            registry: engine.registry().clone(),
            threads: 1,
            fuse: true,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        let executor = Executor::with_runtime(options, engine.runtime().clone());
        let (scope, programs, loaded) = (Scope::new(), Vec::new(), Vec::new());
        EagerOptimizer { make, executor, scope, programs, loaded, rate }
    }

    /// Sets the learning rate of the steps to come.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Updates parameters by their gradients.
    pub fn step(&mut self, engine: &EagerEngine, pairs: &[ParamGrad]) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let at = self.updates(pairs)?;
        let updates = &self.programs[at];
        if let Some(rate) = &updates.rate {
            self.scope.set(rate, Tensor::scalar(self.rate as f32));
        }
        let names: Vec<(Name, Name)> = updates.key.iter().map(|(n, ..)| (n.clone(), grad_name(n))).collect();
        let mut moved = 0;
        let mut result = Ok(());
        for (pair, (param, grad)) in pairs.iter().zip(&names) {
            result = self.move_in(engine, pair, param, grad);
            if result.is_err() {
                break;
            }
            moved += 1;
        }
        if result.is_ok() {
            result = self.executor.run(&updates.program, &[], &[], &self.scope).map(drop);
        }
        for (pair, (param, grad)) in pairs.iter().zip(&names).take(moved) {
            engine.exchange_value(&pair.param, self.take(param));
            engine.exchange_value(&pair.grad, self.take(grad));
        }
        result
    }

    fn move_in(&self, engine: &EagerEngine, pair: &ParamGrad, param: &Name, grad: &Name) -> Result<()> {
        let gradient = engine.take_value(&pair.grad)?;
        match engine.take_value(&pair.param) {
            Ok(value) => *self.scope.var(param).write() = value,
            Err(e) => {
                engine.exchange_value(&pair.grad, gradient);
                return Err(e);
            }
        }
        *self.scope.var(grad).write() = gradient;
        Ok(())
    }

    fn take(&self, name: &Name) -> Value {
        std::mem::take(&mut *self.scope.var(name).write())
    }

    /// The position of the program for these parameters; made when it is first asked for.
    fn updates(&mut self, pairs: &[ParamGrad]) -> Result<usize> {
        let mut key = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let name = pair.param.name().ok_or_else(|| Error::new(Kind::Argument, "a parameter without a name"))?;
            key.push((name, pair.grad.var_type()?.kind, pair.meta.clone()));
        }
        if let Some(at) = self.programs.iter().position(|u| u.key == key) {
            return Ok(at);
        }
        let updates = self.build(key, pairs)?;
        self.programs.push(updates);
        Ok(self.programs.len() - 1)
    }

    fn build(&mut self, key: Vec<(Name, VarKind, VarMeta)>, pairs: &[ParamGrad]) -> Result<Updates> {
        let mut net = Net::with_registry(self.executor.options().registry.clone());
        net.names = UniqueNames::new();
        let mut declared = Vec::new();
        for ((name, _, meta), pair) in key.iter().zip(pairs) {
            let mut param = Var::new(name, pair.param.var_type()?);
            param.persistable = true;
            param.meta = VarMeta { is_parameter: true, ..meta.clone() };
            net.declare(param);
            let mut grad = Var::new(grad_name(name), pair.grad.var_type()?);
            // In the scope, so that it moves in and out instead of being copied as a feed.
            grad.persistable = true;
            net.declare(grad);
            declared.push(optimizer::ParamGrad { param: VarRef::new(name, 0), grad: VarRef::new(grad_name(name), 0) });
        }
        let mut optimizer = (self.make)()?;
        optimizer.apply_gradients(&mut net, declared)?;
        let rate = optimizer.learning_rate_var(&net).map(|v| v.name().clone());
        let states = self.start(&net.startup, rate.as_ref())?;
        Ok(Updates { key, program: net.main, rate, states })
    }

    /// Gives state its first value, unless it has one from a step before or was loaded.
    fn start(&mut self, startup: &Program, rate: Option<&Name>) -> Result<Vec<Name>> {
        let fresh = Scope::new();
        self.executor.run(startup, &[], &[], &fresh)?;
        let mut states = Vec::new();
        for op in &startup.global().ops {
            for name in op.outputs.args() {
                if Some(name) == rate || states.contains(name) {
                    continue;
                }
                states.push(name.clone());
                if self.scope.find(name).is_some_and(|v| !v.read().is_empty()) {
                    continue;
                }
                let loaded = self.loaded.iter().position(|(n, _)| n == name);
                let first = match loaded {
                    Some(at) => self.loaded.swap_remove(at).1,
                    None => std::mem::take(&mut *fresh.var(name).write()),
                };
                *self.scope.var(name).write() = first;
            }
        }
        Ok(states)
    }

    /// The state by name, as files hold it.
    pub fn state(&self) -> Result<Vec<(Name, Tensor)>> {
        let mut names: Vec<&Name> = Vec::new();
        for name in self.programs.iter().flat_map(|u| &u.states) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let dense = |name: &Name| Some((name.clone(), self.scope.tensor(name)?));
        let mut all: Vec<(Name, Tensor)> = names.into_iter().filter_map(dense).collect();
        for (name, value) in &self.loaded {
            if let Value::Dense(t) = value {
                all.push((name.clone(), t.clone()));
            }
        }
        Ok(all)
    }

    /// Takes over state by name; what the optimizer has not made yet is kept until it does.
    pub fn load_state(&mut self, name: &str, value: Tensor) -> Result<()> {
        if let Some(var) = self.scope.find(name) {
            let mut var = var.write();
            if let Value::Dense(old) = &*var
                && (old.dims() != value.dims() || old.dtype() != value.dtype())
            {
                fail!(
                    Kind::Shape,
                    "optimizer state `{name}` is {}{}, but {}{} was given",
                    old.dtype(),
                    old.dims(),
                    value.dtype(),
                    value.dims()
                );
            }
            *var = Value::Dense(value);
            return Ok(());
        }
        self.loaded.retain(|(n, _)| n != name);
        self.loaded.push((name.into(), Value::Dense(value)));
        Ok(())
    }
}
