//! Programs that eager mode calls like one operator.
//!
//! The program and its gradient are compiled into one plan. A call runs the operators up to the first that needs the gradient of an
//! output; the instance waits, with the values the gradient needs, until the backward pass runs the rest.

use std::sync::Arc;

use oarlock_ir::{Error, GradientTargets, Kind, Name, Program, Result, Runtime, Var, VarKind, fail, gradients};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use parking_lot::Mutex;

use super::eager_engine::EagerEngine;
use super::node::CustomGradient;
use super::tensor::EagerTensor;
use crate::executor::ExecOptions;
use crate::instance::{Instance, RunCx};
use crate::plan::Plan;
use crate::scope::Scope;

/// A program with the names of its inputs, parameters and results.
pub struct ProgramFunction {
    program: Program,
    inputs: Vec<Name>,
    parameters: Vec<Name>,
    fetches: Vec<Name>,
    options: ExecOptions,
    runtime: Arc<Runtime>,
    /// Plans by which of inputs and parameters need gradients.
    compiled: Mutex<Vec<(Vec<bool>, Arc<Compiled>)>>,
}

/// The plan of a program and its gradient.
struct Compiled {
    plan: Arc<Plan>,
    /// Operators before this one need no gradient of a result.
    forward: usize,
    /// By fetch: the position among the feeds of its gradient.
    out_grads: Vec<Option<usize>>,
    /// By input and parameter: the position among the fetches of its gradient.
    grads: Vec<Option<usize>>,
    idle: Mutex<Vec<Instance>>,
}

impl ProgramFunction {
    /// Of a program. `inputs` are fed; `parameters` are its persistable variables, in the order in which calls give them.
    pub fn new(
        engine: &EagerEngine,
        program: Program,
        inputs: &[&str],
        parameters: &[&str],
        fetches: &[&str],
    ) -> ProgramFunction {
        let names = |list: &[&str]| list.iter().map(|&n| n.into()).collect();
        let options = ExecOptions {
            registry: engine.registry().clone(),
            threads: 1,
            fuse: true,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        ProgramFunction {
            program,
            inputs: names(inputs),
            parameters: names(parameters),
            fetches: names(fetches),
            options,
            runtime: engine.runtime().clone(),
            compiled: Mutex::default(),
        }
    }

    /// Runs the program on tensors: its inputs, then its parameters. The results are part of the graph.
    pub fn call(self: &Arc<Self>, engine: &Arc<EagerEngine>, tensors: &[EagerTensor]) -> Result<Vec<EagerTensor>> {
        if tensors.len() != self.inputs.len() + self.parameters.len() {
            let expected = self.inputs.len() + self.parameters.len();
            fail!(Kind::Argument, "the program takes {expected} tensors, not {}", tensors.len());
        }
        let needs = |t: &EagerTensor| engine.records() && !t.stop_gradient();
        let wanted: Vec<bool> = tensors.iter().map(needs).collect();
        let compiled = self.compiled(&wanted)?;
        let mut instance = compiled.instance(&self.options)?;
        let parameters = &tensors[self.inputs.len()..];
        let feeds: Vec<Tensor> =
            tensors[..self.inputs.len()].iter().map(|t| t.with_dense(Tensor::clone)).collect::<Result<_>>()?;
        let mut fetched = Vec::new();
        self.with_parameters(engine, parameters, |scope| {
            instance.locked(scope, |instance| {
                instance.begin(&self.cx())?;
                for (slot, tensor) in compiled.plan.feeds.iter().zip(&feeds) {
                    instance.feed_one(slot, |to| to.copy_from(tensor))?;
                }
                instance.run_ops(&self.cx(), 0..compiled.forward, true)?;
                instance.fetch_some(0..self.fetches.len(), &mut fetched)
            })
        })?;
        if wanted.iter().all(|w| !w) {
            compiled.idle.lock().push(instance);
            return Ok(fetched.into_iter().map(|value| engine.tensor(value)).collect());
        }
        let sizes = fetched.iter().map(sizes_of).collect();
        let gradient = ProgramGradient {
            function: self.clone(),
            compiled,
            parameters: parameters.to_vec(),
            sizes,
            waiting: Mutex::new(Some(instance)),
            engine: engine.clone(),
        };
        Ok(engine.record_custom("run_program", tensors, fetched, Arc::new(gradient)))
    }

    fn cx(&self) -> RunCx<'_> {
        RunCx { runtime: &self.runtime, check_nan_inf: self.options.check_nan_inf, recorder: None }
    }

    /// Calls `work` with a scope that holds the values of the parameters, which go back afterwards.
    fn with_parameters<T>(
        &self,
        engine: &EagerEngine,
        parameters: &[EagerTensor],
        work: impl FnOnce(&Scope) -> Result<T>,
    ) -> Result<T> {
        let scope = Scope::new();
        let mut taken = Vec::new();
        let mut result = Ok(());
        for (name, tensor) in self.parameters.iter().zip(parameters) {
            match engine.take_value(tensor) {
                Ok(value) => *scope.var(name).write() = value,
                Err(e) => {
                    result = Err(e);
                    break;
                }
            }
            taken.push((name, tensor));
        }
        let result = result.and_then(|()| work(&scope));
        for (name, tensor) in taken {
            let value = std::mem::take(&mut *scope.var(name).write());
            engine.exchange_value(tensor, value);
        }
        result
    }

    fn compiled(&self, wanted: &[bool]) -> Result<Arc<Compiled>> {
        if let Some((_, found)) = self.compiled.lock().iter().find(|(w, _)| w == wanted) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.compile(wanted)?);
        self.compiled.lock().push((wanted.to_vec(), made.clone()));
        Ok(made)
    }

    fn compile(&self, wanted: &[bool]) -> Result<Compiled> {
        let mut program = self.program.clone();
        let mut feeds = self.inputs.clone();
        let mut fetches = self.fetches.clone();
        let mut out_grads = vec![None; self.fetches.len()];
        let mut grads = vec![None; wanted.len()];
        if wanted.contains(&true) {
            let sources: Vec<Name> = self.inputs.iter().chain(&self.parameters).cloned().collect();
            let differentiable = |name: &Name| {
                let var = program.global().var(name);
                var.is_some_and(|v| v.kind == VarKind::Tensor && v.ty().dtype.is_float() && !v.meta.stop_gradient)
            };
            let targets: Vec<Name> = self.fetches.iter().filter(|n| differentiable(n)).cloned().collect();
            let seeds: Vec<Option<Name>> = targets.iter().map(|n| Some(format!("{n}@SEED").into())).collect();
            for (target, seed) in targets.iter().zip(seeds.iter().flatten()) {
                let ty = program.expect_var(0, target)?.ty();
                program.global_mut().set_var(Var::new(seed, ty));
                let at = self.fetches.iter().position(|f| f == target);
                out_grads[at.unwrap_or_default()] = Some(feeds.len());
                feeds.push(seed.clone());
            }
            for name in &sources {
                if let Some(var) = program.find_var_mut(0, name) {
                    var.meta.stop_gradient = false;
                }
            }
            let chosen: Vec<Name> = sources.iter().zip(wanted).filter(|(_, w)| **w).map(|(n, _)| n.clone()).collect();
            let targets = GradientTargets { block: 0, names: &targets, gradients: &seeds };
            let found = gradients(&mut program, &targets, &chosen, &Default::default(), &self.options.registry)?;
            for (name, grad) in chosen.iter().zip(found) {
                if let (Some(grad), Some(at)) = (grad, sources.iter().position(|s| s == name)) {
                    grads[at] = Some(fetches.len());
                    fetches.push(grad);
                }
            }
        }
        let plan = self.plan(&program, &feeds, &fetches)?;
        let forward = first_of_gradient(&plan, &feeds[self.inputs.len()..]);
        Ok(Compiled { plan: Arc::new(plan), forward, out_grads, grads, idle: Mutex::default() })
    }

    /// A plan in which every result stands before the gradient; without fusions if they would mix them.
    fn plan(&self, program: &Program, feeds: &[Name], fetches: &[Name]) -> Result<Plan> {
        let feed_names: Vec<&str> = feeds.iter().map(Name::as_str).collect();
        let fetch_names: Vec<&str> = fetches.iter().map(Name::as_str).collect();
        let plan = Plan::compile(program, &feed_names, &fetch_names, &self.options)?;
        let first = first_of_gradient(&plan, &feeds[self.inputs.len()..]);
        let results: Vec<usize> = plan.fetches[..self.fetches.len()].iter().map(|(_, slot)| *slot).collect();
        let is_mixed = plan.blocks[0].ops[first..].iter().any(|op| op.writes.iter().any(|w| results.contains(w)));
        if !is_mixed {
            return Ok(plan);
        }
        let plain = ExecOptions { fuse: false, ..self.options.clone() };
        Plan::compile(program, &feed_names, &fetch_names, &plain)
    }
}

/// The position of the first operator that reads the gradient of a result; the number of operators if there is none.
fn first_of_gradient(plan: &Plan, seeds: &[Name]) -> usize {
    let ops = &plan.blocks[0].ops;
    ops.iter().position(|p| p.op.inputs.args().any(|n| seeds.contains(n))).unwrap_or(ops.len())
}

fn sizes_of(value: &Value) -> (DType, Dims) {
    match value {
        Value::Dense(t) => (t.dtype(), *t.dims()),
        _ => (DType::F32, Dims::EMPTY),
    }
}

impl Compiled {
    fn instance(&self, options: &ExecOptions) -> Result<Instance> {
        match self.idle.lock().pop() {
            Some(instance) => Ok(instance),
            None => Instance::new(self.plan.clone(), options),
        }
    }
}

/// A call of a program that waits for its backward pass.
struct ProgramGradient {
    function: Arc<ProgramFunction>,
    compiled: Arc<Compiled>,
    parameters: Vec<EagerTensor>,
    /// The sizes of the results, for gradients that are zero.
    sizes: Vec<(DType, Dims)>,
    waiting: Mutex<Option<Instance>>,
    engine: Arc<EagerEngine>,
}

impl CustomGradient for ProgramGradient {
    fn backward(&self, grads: Vec<Option<EagerTensor>>) -> Result<Vec<Option<EagerTensor>>> {
        let Some(mut instance) = self.waiting.lock().take() else {
            return Err(Error::new(Kind::Argument, "a backward pass has gone through this program already")
                .help("call the function again: a program keeps what its gradient needs for one backward pass"));
        };
        let (compiled, function) = (&self.compiled, &self.function);
        let mut fetched = Vec::new();
        function.with_parameters(&self.engine, &self.parameters, |scope| {
            instance.locked(scope, |instance| {
                for (at, feed) in compiled.out_grads.iter().enumerate() {
                    let Some(feed) = feed else { continue };
                    let (dtype, dims) = self.sizes[at];
                    let given = grads.get(at).and_then(Option::as_ref);
                    let grad = match given {
                        Some(grad) => grad.with_dense(Tensor::clone)?,
                        None => Tensor::zeros(dtype, dims),
                    };
                    instance.feed_one(&compiled.plan.feeds[*feed], |to| to.copy_from(&grad))?;
                }
                let end = compiled.plan.blocks[0].ops.len();
                instance.run_ops(&function.cx(), compiled.forward..end, true)?;
                instance.fetch_some(function.fetches.len()..compiled.plan.fetches.len(), &mut fetched)
            })
        })?;
        compiled.idle.lock().push(instance);
        let mut fetched: Vec<Option<Value>> = fetched.into_iter().map(Some).collect();
        let first = function.fetches.len();
        let take = |at: &Option<usize>| Some(self.engine.tensor(fetched[(*at)? - first].take()?));
        Ok(compiled.grads.iter().map(take).collect())
    }
}

impl Drop for ProgramGradient {
    fn drop(&mut self) {
        if let Some(instance) = self.waiting.get_mut().take() {
            self.compiled.idle.lock().push(instance);
        }
    }
}
