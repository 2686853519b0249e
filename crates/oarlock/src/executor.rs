//! The one place where a step is run, whatever started it: `exe.run`, replicas, a data set, `Trainer`, Rust or Python.
//!
//! A step is: parameters that servers changed without this trainer are fetched, and what a communicator received is put in place
//! (`PsState::before_step`); the program runs on its data, and its operators exchange values with servers or ranks; if a rank of an
//! elastic group is lost, those that are left repeat the step (`elastic::run_step`). A server's program is served instead.

use std::ops::Deref;
use std::sync::Arc;

use oarlock_exec::replicas::{Feeds, Replicas};
use oarlock_exec::{ExecOptions, Scope};
use oarlock_ir::{Error, Kind, Program, Result};
use oarlock_tensor::{Tensor, Value};

use crate::derived::{Derivation, DerivedPrograms};
use crate::job::JobRuntime;

/// Runs programs, on their own or as part of a job. Plans, profiles and memory are those of the executor of plans that it derefs to.
#[derive(Clone)]
pub struct Executor {
    plans: Arc<oarlock_exec::Executor>,
    job: Arc<JobRuntime>,
    derived: Arc<DerivedPrograms>,
}

impl Deref for Executor {
    type Target = oarlock_exec::Executor;

    fn deref(&self) -> &oarlock_exec::Executor {
        &self.plans
    }
}

impl Executor {
    /// An executor of this process. Several may share its part in a job.
    pub fn new(options: ExecOptions, job: Arc<JobRuntime>) -> Executor {
        let plans = Arc::new(oarlock_exec::Executor::with_runtime(options, job.runtime().clone()));
        Executor { plans, job, derived: Arc::default() }
    }

    /// The part of this process in its job.
    pub fn job(&self) -> &Arc<JobRuntime> {
        &self.job
    }

    /// The program to run in place of `program` for these feeds and fetches: with an exchange of gradients, pruned, or the program
    /// itself. It is made once for each version of `program`, so that its plan is, too.
    pub fn derived(
        &self,
        program: &Arc<Program>,
        how: Derivation,
        feeds: &[&str],
        fetches: &[&str],
    ) -> Result<Arc<Program>> {
        self.derived.of(program, how, feeds, fetches)
    }

    /// Runs a program: feeds by name, fetches by name, variables that outlive the run in `scope`. Returns copies of what is fetched.
    /// If the run fails, every variable of the scope is as it was before.
    pub fn run(
        &self,
        program: &Program,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        scope: &Scope,
    ) -> Result<Vec<Value>> {
        let mut fetched = Vec::new();
        self.run_into(program, feeds, fetches, scope, &mut fetched)?;
        Ok(fetched)
    }

    /// Like [`Executor::run`], but reuses the memory of earlier results. A warmed-up training loop then allocates nothing.
    pub fn run_into(
        &self,
        program: &Program,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        scope: &Scope,
        fetched: &mut Vec<Value>,
    ) -> Result<()> {
        if oarlock_ps::server::is_server(program) {
            return self.job.serve(&self.plans, program, scope);
        }
        self.step(program, scope, || self.plans.run_into(program, feeds, fetches, scope, fetched))
    }

    /// Runs a program and returns the fetched dense tensors.
    pub fn run_tensors(
        &self,
        program: &Program,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
        scope: &Scope,
    ) -> Result<Vec<Tensor>> {
        let values = self.run(program, feeds, fetches, scope)?;
        let dense = |(name, v): (&&str, Value)| match v {
            Value::Dense(t) => Ok(t),
            other => Err(Error::new(Kind::Argument, format!("fetched `{name}` is {}, not a tensor", other.kind()))),
        };
        fetches.iter().zip(values).map(dense).collect()
    }

    /// Runs a program on replicas, whose gradients are added up. Returns for every fetch the values of all replicas.
    pub fn run_replicas(
        &self,
        program: &Program,
        how: &Replicas,
        feeds: Feeds<'_>,
        fetches: &[&str],
        scope: &Scope,
    ) -> Result<Vec<Vec<Value>>> {
        self.step(program, scope, || self.plans.run_replicas(program, how, feeds, fetches, scope))
    }

    /// Runs one step of a program, of which `work` is the computation. It is done again where a rank was lost.
    pub(crate) fn step<T>(&self, program: &Program, scope: &Scope, work: impl FnMut() -> Result<T>) -> Result<T> {
        self.job.step(&self.plans, program, scope, work)
    }

    /// Ends the part of this process in its job: see [`JobRuntime::close`].
    pub fn close(&self) -> Result<bool> {
        self.job.close()
    }
}
