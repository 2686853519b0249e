//! Data parallelism on one machine: replicas of a program on threads, each with its own samples, train one set of parameters.
//!
//! There is one executor: replicas are instances of one plan ([`run`]). The program is rewritten so that its operators stand in two
//! parts, those that every replica runs and those that run once for all ([`stages`]); between them gradients are added up.

mod batches;
mod run;
mod stages;

use oarlock_ir::{PassRun, Program, Result};
use oarlock_tensor::Value;

pub use batches::{Feeds, joined};
use run::Step;
pub(crate) use run::{ReplicaSet, StagedPlan, ThreadPools};
pub use stages::PASSES;

use crate::executor::{ExecOptions, Executor};
use crate::instance::RunCx;
use crate::plan::compile;
use crate::plan_cache::PlanKey;
use crate::scope::Scope;

/// How a program runs on several replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas {
    /// The number of replicas: each has a thread, and its samples.
    pub count: usize,
    /// How the loss of a replica counts.
    pub scale: LossScale,
    /// Batch normalisation takes its statistics over the samples of all replicas; otherwise each over its own, and those of the
    /// first replica are kept.
    pub sync_batch_norm: bool,
}

impl Replicas {
    /// `count` replicas, which together compute what one would on all samples.
    pub const fn new(count: usize) -> Replicas {
        Replicas { count, scale: LossScale::Mean, sync_batch_norm: false }
    }
}

/// How the loss of a replica counts: what its gradient begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossScale {
    /// 1 / replicas, so that the sum of gradients is the gradient of the mean loss (Fluid's CoeffNumDevice).
    Mean,
    /// 1: the gradient of the sum of losses (Fluid's One).
    Sum,
    /// The gradient of the loss is fed by the user (Fluid's Customized).
    Fed,
}

fn staged_plan(
    program: &Program,
    how: &Replicas,
    feeds: &[&str],
    fetches: &[&str],
    options: &ExecOptions,
) -> Result<StagedPlan> {
    let mut passes = PassRun::new(options.registry.verifies());
    let program = stages::assign(program, feeds, how, options, &mut passes)?;
    let plan = compile(&program.program, feeds, fetches, &program.joined, options, &mut passes)?;
    Ok(StagedPlan::new(plan, &program))
}

impl Executor {
    /// Runs a program on replicas. Returns for every fetch what each replica has; [`joined`] puts that together. What is the same
    /// for all, such as a parameter or the sum of gradients, comes once for each replica, too.
    ///
    /// The result is the same in every run. If it fails, every variable of the scope is as it was before.
    pub fn run_replicas(
        &self,
        program: &Program,
        how: &Replicas,
        feeds: Feeds<'_>,
        fetches: &[&str],
        scope: &Scope,
    ) -> Result<Vec<Vec<Value>>> {
        let how = Replicas { count: how.count.max(1), ..*how };
        let (names, options) = (feeds.names(), self.options());
        let key = PlanKey { program, replicas: Some(how), feeds: names.iter().copied(), fetches };
        let compile = || staged_plan(program, &how, &names, fetches, options);
        let make = |plan| ReplicaSet::new(plan, how.count, self.runtime(), options);
        let mut set = self.replica_sets.take(&key, compile, make)?;
        let recorder = self.recorder();
        let main = RunCx {
            runtime: self.runtime(),
            check_nan_inf: self.options().check_nan_inf,
            recorder: recorder.as_deref(),
        };
        let is_persistable = |name: &str| program.global().var(name).is_some_and(|v| v.persistable);
        let parts = feeds.parts(how.count, !set.staged.trains(), is_persistable);
        let fetched = parts.and_then(|parts| set.run(&Step { main, parts: &parts }, scope));
        let staged = set.staged.clone();
        self.replica_sets.give_back(&staged, set);
        fetched
    }

    /// The program as replicas run it, for tools and tests: operators with a role of the optimizer, of a learning-rate schedule or of
    /// communication run once.
    pub fn replicated_program(
        &self,
        program: &Program,
        how: &Replicas,
        feeds: &[&str],
        fetches: &[&str],
    ) -> Result<Program> {
        Ok(staged_plan(program, how, feeds, fetches, self.options())?.plan.program.clone())
    }
}
