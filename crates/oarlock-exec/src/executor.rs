//! The executor: plans are made once and kept, runs are taken from them.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Name, Program, Registry, Result, Runtime};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use crate::hogwild::{Means, Worker};
use crate::instance::{Instance, RunCx};
use crate::plan::Plan;
use crate::profile::{Profile, Recorder, SharedProfile};
use crate::replicas::Teams;
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

/// The most plans kept; the one unused for longest goes first. Programs that are rebuilt each step would otherwise fill memory.
pub(crate) const MAX_PLANS: usize = 64;

/// Runs programs.
pub struct Executor {
    options: ExecOptions,
    runtime: Arc<Runtime>,
    plans: Mutex<Vec<Planned>>,
    pub(crate) teams: Teams,
    recorder: Mutex<Option<Arc<Recorder>>>,
    warn: Mutex<Warn>,
}

/// Who is told what is worth a warning.
type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// A plan, for what it was made, and its instances that are not running now.
struct Planned {
    program: u64,
    version: u64,
    feeds: Vec<Name>,
    fetches: Vec<Name>,
    plan: Arc<Plan>,
    idle: Vec<Instance>,
}

/// Memory of temporaries, as one program's runs used it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryReport {
    /// The most bytes that temporaries took at the end of an operator or a run.
    pub peak_bytes: usize,
}

impl Planned {
    fn is_for(&self, program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> bool {
        self.program == program.id()
            && self.version == program.version()
            && self.feeds.len() == feeds.len()
            && self.fetches.len() == fetches.len()
            && self.feeds.iter().zip(feeds).all(|(a, (b, _))| &**a == *b)
            && self.fetches.iter().zip(fetches).all(|(a, b)| &**a == *b)
    }
}

impl Executor {
    /// An executor with a runtime of its own.
    pub fn new(options: ExecOptions) -> Executor {
        let runtime = Arc::new(Runtime::new(options.threads));
        Executor::with_runtime(options, runtime)
    }

    /// An executor that shares a runtime.
    pub fn with_runtime(options: ExecOptions, runtime: Arc<Runtime>) -> Executor {
        let warn: Warn = Arc::new(|text| eprintln!("warning: {text}"));
        let (plans, teams, recorder) = Default::default();
        Executor { options, runtime, plans, teams, recorder, warn: Mutex::new(warn) }
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
        self.give_back(program, instance);
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
        let mut plans = self.plans.lock();
        let at = plans.iter().position(|p| p.is_for(program, feeds, fetches));
        let plan = match at {
            Some(at) => {
                // Plans in use stand at the end; the first is the one unused for longest.
                let last = plans.len() - 1;
                plans.swap(at, last);
                if let Some(instance) = plans[last].idle.pop() {
                    return Ok(instance);
                }
                plans[last].plan.clone()
            }
            None => {
                drop(plans);
                let plan = self.plan(program, feeds, fetches)?;
                plans = self.plans.lock();
                // Older versions of this program will not run again.
                plans.retain(|p| p.program != program.id() || p.version == program.version());
                if plans.len() >= MAX_PLANS {
                    plans.remove(0);
                }
                plans.push(planned(program, feeds, fetches, plan.clone()));
                plan
            }
        };
        drop(plans);
        Instance::new(plan, &self.options)
    }

    fn plan(&self, program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Result<Arc<Plan>> {
        let feeds: Vec<&str> = feeds.iter().map(|(n, _)| *n).collect();
        Ok(Arc::new(Plan::compile(program, &feeds, fetches, &self.options)?))
    }

    fn give_back(&self, program: &Program, instance: Instance) {
        let mut plans = self.plans.lock();
        let same = |p: &&mut Planned| p.program == program.id() && Arc::ptr_eq(&p.plan, &instance.plan);
        if let Some(p) = plans.iter_mut().rev().find(same) {
            p.idle.push(instance);
        }
    }

    /// Workers that run a program at the same time on one scope, for `count` threads. A single one does exactly what
    /// [`Executor::run`] does; of several, each computes on its own thread alone and [`Worker`] tells how they share.
    pub fn workers(
        &self,
        program: &Program,
        feeds: &[&str],
        fetches: &[&str],
        scope: &Scope,
        count: usize,
    ) -> Result<Vec<Worker>> {
        let plan = Arc::new(Plan::compile(program, feeds, fetches, &self.options)?);
        let recorder = self.recorder.lock().clone();
        let worker = |_| {
            let instance = Instance::new(plan.clone(), &self.options)?;
            let means = Means {
                runtime: if count > 1 { Arc::new(self.runtime.inline()) } else { self.runtime.clone() },
                check_nan_inf: self.options.check_nan_inf,
                recorder: recorder.clone(),
            };
            if count > 1 {
                Worker::among_others(instance, means, scope)
            } else {
                Ok(Worker::alone(instance, means, scope))
            }
        };
        (0..count.max(1)).map(worker).collect()
    }

    /// How much memory temporaries of a program took, over all its plans that are idle now; `None` if it did not run.
    pub fn memory(&self, program: &Program) -> Option<MemoryReport> {
        let plans = self.plans.lock();
        let peaks = plans.iter().filter(|p| p.program == program.id()).flat_map(|p| p.idle.iter().map(|i| i.peak));
        peaks.max().max(self.teams.peak(program)).map(|peak_bytes| MemoryReport { peak_bytes })
    }

    /// Gives back the memory that temporaries of a program keep between its runs.
    pub fn drop_temporaries(&self, program: &Program) {
        self.plans.lock().iter_mut().filter(|p| p.program == program.id()).for_each(|p| p.idle.clear());
        self.teams.drop_idle(program);
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

    /// Tells `warn` what is worth a warning, instead of writing it to standard error.
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

fn planned(program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str], plan: Arc<Plan>) -> Planned {
    Planned {
        program: program.id(),
        version: program.version(),
        feeds: feeds.iter().map(|(n, _)| (*n).into()).collect(),
        fetches: fetches.iter().map(|&n| n.into()).collect(),
        plan,
        idle: Vec::new(),
    }
}
