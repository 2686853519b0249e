//! A program held ready to run again and again: inputs are filled where the run reads them, outputs taken without a copy.

use std::sync::Arc;

use oarlock_ir::{Name, Program, Result, Runtime};
use oarlock_tensor::{Tensor, Value};

use crate::executor::{ExecOptions, Executor};
use crate::instance::{Instance, RunCx};
use crate::plan::Plan;
use crate::scope::Scope;

/// A program planned for fixed feeds and fetches, with values of its own. One thread uses it at a time.
pub struct Session {
    instance: Instance,
    options: ExecOptions,
    runtime: Arc<Runtime>,
    scope: Scope,
    outputs: Vec<Value>,
}

impl Executor {
    /// Holds a program ready. Variables that outlive a run are those of `scope`.
    pub fn session(&self, program: &Program, feeds: &[&str], fetches: &[&str], scope: &Scope) -> Result<Session> {
        let plan = Arc::new(Plan::compile(program, feeds, fetches, self.options())?);
        Session::new(plan, self.options().clone(), self.runtime().clone(), scope.clone())
    }
}

impl Session {
    fn new(plan: Arc<Plan>, options: ExecOptions, runtime: Arc<Runtime>, scope: Scope) -> Result<Session> {
        let outputs = plan.fetches.iter().map(|_| Value::Empty).collect();
        let instance = Instance::new(plan, &options)?;
        Ok(Session { instance, options, runtime, scope, outputs })
    }

    /// Another one of the same plan and scope, for another thread.
    pub fn try_clone(&self) -> Result<Session> {
        let plan = self.instance.plan.clone();
        Session::new(plan, self.options.clone(), self.runtime.clone(), self.scope.clone())
    }

    /// The program as it runs, after fusion.
    pub fn program(&self) -> &Program {
        &self.instance.plan.program
    }

    /// The names of the inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &Name> {
        self.instance.plan.feeds.iter().map(|feed| &feed.name)
    }

    /// The names of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Name> {
        self.instance.plan.fetches.iter().map(|(name, _)| name)
    }

    /// The tensor of an input, to read and to fill. It keeps what it holds from run to run. Panics if there is no such input.
    pub fn input_mut(&mut self, input: usize) -> &mut Tensor {
        self.instance.input_mut(input)
    }

    /// Runs the program. A warmed-up run allocates nothing.
    pub fn run(&mut self) -> Result<()> {
        let cx = RunCx { runtime: &self.runtime, check_nan_inf: self.options.check_nan_inf, recorder: None };
        self.instance.run_in_place(&cx, &self.scope, &mut self.outputs)
    }

    /// The value that the last run computed. Panics if there is no such output.
    pub fn output(&self, output: usize) -> &Value {
        &self.outputs[output]
    }

    /// The value that the last run computed, to change or to take away. Panics if there is no such output.
    pub fn output_mut(&mut self, output: usize) -> &mut Value {
        &mut self.outputs[output]
    }
}
