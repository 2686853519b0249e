//! Data parallel on one machine: replicas of a program on threads, each with its own samples, which learn together.
//!
//! There is one executor: replicas are instances of one plan ([`run`]). The program is rewritten so that its operators stand in two
//! parts, those that every replica runs and those that run once for all ([`stages`]); between them gradients are added up.

mod batches;
mod run;
mod stages;

use std::sync::Arc;

use oarlock_ir::{Name, PassRun, Program, Result};
use oarlock_tensor::Value;
use parking_lot::Mutex;

pub use batches::{Feeds, joined};
pub(crate) use run::Crews;
use run::{Script, Step, Team};
pub use stages::PASSES;

use crate::executor::{ExecOptions, Executor, MAX_PLANS};
use crate::instance::RunCx;
use crate::plan::compile;
use crate::scope::Scope;

/// How a program runs on several replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas {
    /// How many: each has a thread, and its samples.
    pub count: usize,
    /// How the loss of a replica counts.
    pub scale: LossScale,
    /// Batch normalisation takes its statistics over the samples of all replicas; otherwise each over its own, and those of the
    /// first replica are kept.
    pub sync_batch_norm: bool,
}

impl Replicas {
    /// So many, which together compute what one would on all samples.
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
    /// What the user feeds as the loss's gradient (Fluid's Customized).
    Fed,
}

/// Teams that are not running now, by what they were made for.
#[derive(Default)]
pub(crate) struct Teams(Mutex<Vec<Kept>>);

struct Kept {
    program: u64,
    version: u64,
    how: Replicas,
    feeds: Vec<Name>,
    fetches: Vec<Name>,
    script: Arc<Script>,
    idle: Vec<Team>,
}

impl Teams {
    fn take(
        &self,
        executor: &Executor,
        program: &Program,
        how: &Replicas,
        feeds: &[&str],
        fetches: &[&str],
    ) -> Result<Team> {
        let same = |a: &[Name], b: &[&str]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| &**a == *b);
        let mut kept = self.0.lock();
        let at = kept.iter().position(|k| {
            (k.program, k.version, k.how) == (program.id(), program.version(), *how)
                && same(&k.feeds, feeds)
                && same(&k.fetches, fetches)
        });
        let script = match at {
            Some(at) => {
                // Those in use stand at the end; the first is the one unused for longest.
                let last = kept.len() - 1;
                kept.swap(at, last);
                if let Some(team) = kept[last].idle.pop() {
                    return Ok(team);
                }
                kept[last].script.clone()
            }
            None => {
                drop(kept);
                let script = Arc::new(script(program, how, feeds, fetches, executor.options())?);
                kept = self.0.lock();
                // Older versions of this program will not run again.
                kept.retain(|k| k.program != program.id() || k.version == program.version());
                if kept.len() >= MAX_PLANS {
                    kept.remove(0);
                }
                kept.push(Kept {
                    program: program.id(),
                    version: program.version(),
                    how: *how,
                    feeds: feeds.iter().map(|&n| n.into()).collect(),
                    fetches: fetches.iter().map(|&n| n.into()).collect(),
                    script: script.clone(),
                    idle: Vec::new(),
                });
                script
            }
        };
        drop(kept);
        Team::new(script, how.count, executor.runtime(), executor.options())
    }

    fn give_back(&self, team: Team) {
        let mut kept = self.0.lock();
        if let Some(k) = kept.iter_mut().rev().find(|k| Arc::ptr_eq(&k.script, &team.script)) {
            k.idle.push(team);
        }
    }

    /// The most bytes that temporaries of a program took, over all its teams that are idle now.
    pub(crate) fn peak(&self, program: &Program) -> Option<usize> {
        let kept = self.0.lock();
        kept.iter().filter(|k| k.program == program.id()).flat_map(|k| k.idle.iter().map(Team::peak)).max()
    }

    /// Forgets the teams of a program that are idle now.
    pub(crate) fn drop_idle(&self, program: &Program) {
        self.0.lock().iter_mut().filter(|k| k.program == program.id()).for_each(|k| k.idle.clear());
    }
}

fn script(
    program: &Program,
    how: &Replicas,
    feeds: &[&str],
    fetches: &[&str],
    options: &ExecOptions,
) -> Result<Script> {
    let mut passes = PassRun::new(options.registry.verifies());
    let spread = stages::spread(program, feeds, how, options, &mut passes)?;
    let plan = compile(&spread.program, feeds, fetches, &spread.joined, options, &mut passes)?;
    Ok(Script::new(plan, &spread))
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
        let mut team = self.teams.take(self, program, &how, &feeds.names(), fetches)?;
        let recorder = self.recorder();
        let main = RunCx {
            runtime: self.runtime(),
            check_nan_inf: self.options().check_nan_inf,
            recorder: recorder.as_deref(),
        };
        let is_persistable = |name: &str| program.global().var(name).is_some_and(|v| v.persistable);
        let parts = feeds.parts(how.count, !team.script.trains(), is_persistable);
        let fetched = parts.and_then(|parts| team.run(&Step { main, parts: &parts }, scope));
        self.teams.give_back(team);
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
        Ok(script(program, how, feeds, fetches, self.options())?.plan.program.clone())
    }
}
