//! The executor: plans are made once and kept, runs are taken from them.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Name, Program, Registry, Result, Runtime};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use crate::hogwild::{HogwildThread, Resources};
use crate::instance::{Instance, RunCx};
use crate::plan::Plan;
use crate::plan_cache::{PlanCache, PlanKey};
use crate::profile::{Profile, Recorder, SharedProfile};
use crate::replicas::{ReplicaSet, StagedPlan};
use crate::scope::Scope;
use crate::state::ExecState;

/// How an executor works. Nothing here changes results.
#[derive(Clone)]
pub struct ExecOptions {
    /// The operators and fusions it knows.
    pub registry: Arc<Registry>,
    /// Compute threads.
    pub threads: usize,
    /// Do neighbours as one where a fusion exists.
    pub fuse: bool,
    /// Fusions to leave out, by name.
    pub without_fusions: Vec<String>,
    /// After each operator, look for nan and infinity in what it wrote.
    pub check_nan_inf: bool,
}

/// Runs programs.
pub struct Executor {
    options: ExecOptions,
    runtime: Arc<Runtime>,
    plans: PlanCache<Plan, Instance>,
    pub(crate) replica_sets: PlanCache<StagedPlan, ReplicaSet>,
    recorder: Mutex<Option<Arc<Recorder>>>,
    warn: Mutex<Warn>,
}

/// Receives warnings.
type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// Memory of temporaries, as one program's runs used it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryReport {
    /// The most bytes that temporaries took at the end of an operator or a run.
    pub peak_bytes: usize,
}

impl Executor {
    /// An executor with a runtime of its own.
    pub fn new(options: ExecOptions) -> Executor {
        let runtime = Arc::new(Runtime::new(options.threads));
        Executor::with_runtime(options, runtime)
    }

    /// An executor that shares a runtime.
    pub fn with_runtime(options: ExecOptions, runtime: Arc<Runtime>) -> Executor {
        let warn: Warn = Arc::new(|text| tracing::warn!("{text}"));
        let (plans, replica_sets, recorder) = Default::default();
        Executor { options, runtime, plans, replica_sets, recorder, warn: Mutex::new(warn) }
    }

    /// Threads and other resources operators find.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// How it works.
    pub fn options(&self) -> &ExecOptions {
        &self.options
    }

    /// Runs a program: feeds by name, fetches by name, variables that outlive the run in `scope`. Returns copies of what is fetched.
    ///
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
        let mut instance = self.take(program, feeds, fetches)?;
        let recorder = self.recorder();
        let cx =
            RunCx { runtime: &self.runtime, check_nan_inf: self.options.check_nan_inf, recorder: recorder.as_deref() };
        let result = instance.run(&cx, scope, feeds, Some(fetched));
        if result.is_ok() && !instance.plan.initializes.is_empty() {
            self.warn_of_overwriting(&scope.take_loaded(&instance.plan.initializes));
        }
        let plan = instance.plan.clone();
        self.plans.give_back(&plan, instance);
        result
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

    fn take(&self, program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Result<Instance> {
        let names = feeds.iter().map(|(name, _)| *name);
        let key = PlanKey { program, replicas: None, feeds: names.clone(), fetches };
        let compile = || Plan::compile(program, &names.collect::<Vec<_>>(), fetches, &self.options);
        self.plans.take(&key, compile, |plan| Instance::new(plan, &self.options))
    }

    /// Makes `count` Hogwild threads that run a program at the same time on one scope. A single one does exactly what
    /// [`Executor::run`] does; of several, each computes on its own thread alone, and [`HogwildThread`] says how they share.
    pub fn hogwild_threads(
        &self,
        program: &Program,
        feeds: &[&str],
        fetches: &[&str],
        scope: &Scope,
        count: usize,
    ) -> Result<Vec<HogwildThread>> {
        let plan = Arc::new(Plan::compile(program, feeds, fetches, &self.options)?);
        let recorder = self.recorder.lock().clone();
        let thread = |_| {
            let instance = Instance::new(plan.clone(), &self.options)?;
            let resources = Resources {
                runtime: if count > 1 { Arc::new(self.runtime.inline()) } else { self.runtime.clone() },
                check_nan_inf: self.options.check_nan_inf,
                recorder: recorder.clone(),
            };
            if count > 1 {
                HogwildThread::among_others(instance, resources, scope)
            } else {
                Ok(HogwildThread::alone(instance, resources, scope))
            }
        };
        (0..count.max(1)).map(thread).collect()
    }

    /// How much memory temporaries of a program took, over all its plans that are idle now; `None` if it did not run.
    pub fn memory(&self, program: &Program) -> Option<MemoryReport> {
        let peak = self.plans.peak(program, |instance| instance.peak);
        let peak = peak.max(self.replica_sets.peak(program, ReplicaSet::peak));
        peak.map(|peak_bytes| MemoryReport { peak_bytes })
    }

    /// Gives back the memory that temporaries of a program keep between its runs.
    pub fn drop_temporaries(&self, program: &Program) {
        self.plans.drop_idle(program);
        self.replica_sets.drop_idle(program);
    }

    pub(crate) fn recorder(&self) -> Option<Arc<Recorder>> {
        let own = self.recorder.lock().clone();
        own.or_else(|| ExecState::of(&self.runtime).profile().map(|shared| shared.0))
    }

    /// Does something for which other executors of the runtime work: what they do is recorded here, if this one records.
    pub fn with_shared_profile<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(recorder) = self.recorder.lock().clone() else { return work() };
        let state = ExecState::of(&self.runtime);
        state.set_profile(Some(SharedProfile(recorder)));
        let result = work();
        state.set_profile(None);
        result
    }

    /// The program as it is run for these feeds and fetches, after fusion: for tools and tests.
    pub fn planned_program(&self, program: &Program, feeds: &[&str], fetches: &[&str]) -> Result<Program> {
        Ok(Plan::compile(program, feeds, fetches, &self.options)?.program)
    }

    /// Calls `warn` with every warning, instead of logging it.
    pub fn on_warning(&self, warn: impl Fn(&str) + Send + Sync + 'static) {
        *self.warn.lock() = Arc::new(warn);
    }

    /// A startup program that runs after a load undoes the load.
    fn warn_of_overwriting(&self, names: &[Name]) {
        if names.is_empty() {
            return;
        }
        let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
        let warn = self.warn.lock().clone();
        warn(&format!(
            "the program initialised variables that had been loaded, and what was loaded is lost: {}. \
             Run the startup program first and load afterwards",
            list.join(", ")
        ));
    }

    /// Starts to record the time of every operator.
    pub fn start_profile(&self) {
        *self.recorder.lock() = Some(Arc::new(Recorder::new()));
    }

    /// Stops recording; `None` if it was not started or a run is still going on.
    pub fn stop_profile(&self) -> Option<Profile> {
        let recorder = self.recorder.lock().take()?;
        Arc::into_inner(recorder).map(Recorder::finish)
    }
}
