//! Workers that train a transpiled program, and the same training in one process to compare with.

use std::sync::Arc;
use std::time::Duration;

use oarlock_collective::{GroupOptions, Groups, elastic, finish};
use oarlock_exec::replicas::{Feeds, Replicas};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Result};
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers, exchange_gradients};

use crate::programs::{local, noise, rows_of};

pub(crate) const ROWS: usize = 12;

pub(crate) fn executor() -> Executor {
    Executor::new(ExecOptions {
        registry: Arc::new(crate::registry()),
        threads: 1,
        fuse: false,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    })
}

pub(crate) fn free_endpoints(count: usize) -> Vec<String> {
    // All are held until all are found, so that none is found twice.
    let held: Vec<_> = (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|l| l.local_addr().unwrap().to_string()).collect()
}

pub(crate) fn collective(mode: CollectiveMode) -> Config {
    Config { mode: Mode::Collective, collective_mode: Some(mode), ..Config::fluid() }
}

pub(crate) fn options() -> GroupOptions {
    let mut options = GroupOptions::new(0, Vec::new());
    options.deadline = Duration::from_secs(60);
    options
}

/// A worker that is ready for its first step.
pub(crate) struct Worker {
    pub(crate) executor: Executor,
    pub(crate) scope: Scope,
    pub(crate) program: Program,
}

impl Worker {
    /// Every worker starts from parameters of its own: those of rank 0 must be broadcast to all.
    pub(crate) fn join(
        case: &str,
        config: Config,
        rank: usize,
        endpoints: &[String],
        options: GroupOptions,
    ) -> Result<Worker> {
        let (mut program, mut startup) = local(case);
        for op in &mut startup.global_mut().ops {
            if op.attrs.get("seed").is_some() {
                op.attrs.set("seed", 90 + rank as i32);
            }
        }
        let nccl2 = config.mode == Mode::Nccl2;
        DistributeTranspiler::new(config).transpile(Arguments {
            registry: &crate::registry(),
            trainer_id: rank,
            program: &mut program,
            startup_program: &mut startup,
            pservers: "",
            trainers: Trainers::Endpoints(endpoints.join(",")),
            sync_mode: true,
            current_endpoint: &endpoints[rank],
            slice_var_up: None,
            split_method: None,
        })?;
        if nccl2 {
            program = exchange_gradients(&program, endpoints.len())?;
        }
        let (executor, scope) = (executor(), Scope::new());
        Groups::of(executor.runtime()).set_options(options);
        executor.run(&startup, &[], &[], &scope)?;
        Ok(Worker { executor, scope, program })
    }

    fn repeated(&self, step: impl FnMut() -> Result<()>) -> Result<()> {
        elastic::run_step(self.executor.runtime(), &self.program, &self.scope, step)
    }

    pub(crate) fn step(&self, feeds: &[(&str, Tensor)]) -> Result<()> {
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        self.repeated(|| self.executor.run(&self.program, &feeds, &[], &self.scope).map(drop))
    }

    /// The same on replicas.
    fn step_on(&self, replicas: usize, feeds: &[(&str, Tensor)]) -> Result<()> {
        if replicas == 1 {
            return self.step(feeds);
        }
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        let (how, feeds) = (Replicas::new(replicas), Feeds::Split(&feeds));
        self.repeated(|| self.executor.run_replicas(&self.program, &how, feeds, &[], &self.scope).map(drop))
    }

    pub(crate) fn leave(&self) {
        assert!(Groups::of(self.executor.runtime()).leave());
    }
}

pub(crate) fn feed(width: usize, step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
    let whole = [("x", noise(ROWS, width, step)), ("y", noise(ROWS, 1, step + 1000))];
    whole.into_iter().map(|(name, t)| (name, rows_of(&t, from, count))).collect()
}

pub(crate) fn width(case: &str) -> usize {
    if case == "dc_asgd" { 8 } else { 13 }
}

/// Trains with as many workers as `steps` has entries: worker `r` has data for `steps[r]` steps, and finishes without.
pub(crate) fn train(case: &str, config: &Config, options: &GroupOptions, steps: &[usize]) -> Vec<Scope> {
    train_on(1, case, config, options, steps)
}

/// The same, each worker on `replicas` replicas.
pub(crate) fn train_on(
    replicas: usize,
    case: &str,
    config: &Config,
    options: &GroupOptions,
    steps: &[usize],
) -> Vec<Scope> {
    let (endpoints, share) = (free_endpoints(steps.len()), ROWS / steps.len());
    std::thread::scope(|threads| {
        let work = |rank: usize| {
            let (endpoints, config, options) = (endpoints.clone(), config.clone(), options.clone());
            threads.spawn(move || {
                let worker = Worker::join(case, config, rank, &endpoints, options).unwrap();
                for step in 0..steps[rank] {
                    worker.step_on(replicas, &feed(width(case), step, rank * share, share)).unwrap();
                }
                finish(&worker.executor, &worker.program, &worker.scope).unwrap();
                worker.leave();
                worker.scope
            })
        };
        let workers: Vec<_> = (0..steps.len()).map(work).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// One process; in each step it has the rows of those workers that still have data.
pub(crate) fn train_alone(case: &str, steps: &[usize]) -> Scope {
    let (program, startup) = local(case);
    let (executor, scope, share) = (executor(), Scope::new(), ROWS / steps.len());
    executor.run(&startup, &[], &[], &scope).unwrap();
    for step in 0..steps.iter().copied().max().unwrap_or(0) {
        let ranks: Vec<usize> = (0..steps.len()).filter(|rank| step < steps[*rank]).collect();
        assert!(ranks.windows(2).all(|pair| pair[1] == pair[0] + 1), "rows are taken as one range");
        let feeds = feed(width(case), step, ranks[0] * share, ranks.len() * share);
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        executor.run(&program, &feeds, &[], &scope).unwrap();
    }
    scope
}

pub(crate) fn parameters(case: &str) -> Vec<String> {
    local(case).0.vars().filter(|v| v.persistable && v.name.contains("fc_")).map(|v| v.name.to_string()).collect()
}

pub(crate) fn assert_equal(case: &str, found: &[Scope], expected: &Scope) {
    let params = parameters(case);
    assert!(!params.is_empty());
    for param in params {
        let expected = expected.tensor(&param).unwrap();
        for scope in found {
            assert_close(&param, &scope.tensor(&param).unwrap(), &expected, Tolerance::new(1e-5, 1e-6));
            let same = scope.tensor(&param).unwrap().bytes() == found[0].tensor(&param).unwrap().bytes();
            assert!(same, "`{param}` differs between workers");
        }
    }
}
