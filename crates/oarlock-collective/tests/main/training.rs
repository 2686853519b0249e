//! Equal workers: threads and processes that train together over loopback, and what happens when one of them ends.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_collective::{Backend, GroupOptions, Groups};
use oarlock_collective::{elastic, finish};
use oarlock_exec::replicas::{Feeds, Replicas};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Result};
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers, exchange_gradients};

use crate::mpi::mpirun;
use crate::programs::{local, noise, rows_of};

const ROWS: usize = 12;

#[expect(clippy::disallowed_methods, reason = "processes of a test are real")]
fn now() -> Instant {
    Instant::now()
}

fn executor() -> Executor {
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

fn collective(mode: CollectiveMode) -> Config {
    Config { mode: Mode::Collective, collective_mode: Some(mode), ..Config::fluid() }
}

fn options() -> GroupOptions {
    let mut options = GroupOptions::new(0, Vec::new());
    options.deadline = Duration::from_secs(60);
    options
}

/// A worker that is ready for its first step.
struct Worker {
    executor: Executor,
    scope: Scope,
    program: Program,
}

impl Worker {
    /// Every worker starts from values of its own, as far as it knows: rank 0's must come to all.
    fn join(case: &str, config: Config, rank: usize, endpoints: &[String], options: GroupOptions) -> Result<Worker> {
        let (mut program, mut startup) = local(case);
        for op in &mut startup.global_mut().ops {
            if op.attrs.get("seed").is_some() {
                op.attrs.set("seed", 90 + rank as i32);
            }
        }
        let nccl2 = config.mode == Mode::Nccl2;
        DistributeTranspiler::new(config).transpile(Arguments {
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
        executor.runtime().provide(Arc::new(options));
        executor.run(&startup, &[], &[], &scope)?;
        Ok(Worker { executor, scope, program })
    }

    fn step(&self, feeds: &[(&str, Tensor)]) -> Result<()> {
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        elastic::run_into(&self.executor, &self.program, &feeds, &[], &self.scope, &mut Vec::new())
    }

    /// The same on replicas.
    fn step_on(&self, replicas: usize, feeds: &[(&str, Tensor)]) -> Result<()> {
        if replicas == 1 {
            return self.step(feeds);
        }
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        let (how, feeds) = (Replicas::new(replicas), Feeds::Split(&feeds));
        elastic::run_replicas(&self.executor, &self.program, &how, feeds, &[], &self.scope).map(drop)
    }

    fn leave(&self) {
        assert!(Groups::of(self.executor.runtime()).leave());
    }
}

fn feed(width: usize, step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
    let whole = [("x", noise(ROWS, width, step)), ("y", noise(ROWS, 1, step + 1000))];
    whole.into_iter().map(|(name, t)| (name, rows_of(&t, from, count))).collect()
}

fn width(case: &str) -> usize {
    if case == "dc_asgd" { 8 } else { 13 }
}

/// Trains with as many workers as `steps` has entries: worker `r` has data for `steps[r]` steps, and finishes without.
fn train(case: &str, config: &Config, options: &GroupOptions, steps: &[usize]) -> Vec<Scope> {
    train_on(1, case, config, options, steps)
}

/// The same, each worker on so many replicas.
fn train_on(replicas: usize, case: &str, config: &Config, options: &GroupOptions, steps: &[usize]) -> Vec<Scope> {
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
fn train_alone(case: &str, steps: &[usize]) -> Scope {
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

fn parameters(case: &str) -> Vec<String> {
    local(case).0.vars().filter(|v| v.persistable && v.name.contains("fc_")).map(|v| v.name.to_string()).collect()
}

fn assert_equal(case: &str, found: &[Scope], expected: &Scope) {
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

#[test]
fn workers_train_as_one_process() {
    let nccl2 = Config { mode: Mode::Nccl2, ..Config::fluid() };
    for (case, config) in [
        ("dc_asgd", collective(CollectiveMode::GradAllreduce)),
        ("fit_a_line_decay", collective(CollectiveMode::GradAllreduce)),
        ("dc_asgd", Config { nccl_comm_num: 2, ..collective(CollectiveMode::GradAllreduce) }),
        // One step of plain SGD is the mean of where the workers went.
        ("dc_asgd", collective(CollectiveMode::LocalSgd)),
        ("dc_asgd", nccl2),
    ] {
        for steps in [&[4, 4][..], &[3, 3, 3]] {
            let found = train(case, &config, &options(), steps);
            assert_equal(case, &found, &train_alone(case, steps));
        }
    }
}

/// Replicas add up their gradients first, then the processes theirs.
#[test]
fn so_they_do_with_replicas_in_each() {
    let nccl2 = Config { mode: Mode::Nccl2, ..Config::fluid() };
    let modes = [collective(CollectiveMode::GradAllreduce), collective(CollectiveMode::LocalSgd), nccl2];
    for (config, steps) in modes.iter().zip([&[4, 4][..], &[3, 3], &[2, 2, 2]]) {
        let found = train_on(2, "dc_asgd", config, &options(), steps);
        assert_equal("dc_asgd", &found, &train_alone("dc_asgd", steps));
    }
    // One that runs out takes part without weight, too.
    let config = collective(CollectiveMode::GradAllreduce);
    let found = train_on(3, "dc_asgd", &config, &options(), &[2, 5]);
    assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &[2, 5]));
}

#[test]
fn one_process_may_be_a_ring_of_its_own() {
    let config = collective(CollectiveMode::SingleProcessMultiThread);
    for replicas in [1, 2] {
        let found = train_on(replicas, "dc_asgd", &config, &options(), &[4]);
        assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &[4]));
    }
}

#[test]
fn what_every_replica_has_of_its_own_is_not_exchanged() {
    let text = "block 0 {\n var a: f32[?, 1]\n var b: f32[?, 1]\n b = scale(X: a)\n b = c_allreduce_sum(X: b)\n }";
    let Ok(program) = Program::from_text(text) else { panic!("the text is no program") };
    let (a, how) = (noise(4, 1, 0), Replicas::new(2));
    let run = executor().run_replicas(&program, &how, Feeds::Split(&[("a", &a)]), &[], &Scope::new());
    let error = run.unwrap_err().to_string();
    assert!(error.contains("`c_allreduce_sum` exchanges `b` with other processes"), "{error}");
}

#[test]
fn so_they_do_over_tcp_and_with_any_size_of_buckets() {
    let config = collective(CollectiveMode::GradAllreduce);
    let bits = |fuse_bytes: usize, backend: Backend| {
        let scopes = train("dc_asgd", &config, &GroupOptions { fuse_bytes, backend, ..options() }, &[3, 3, 3]);
        assert_equal("dc_asgd", &scopes, &train_alone("dc_asgd", &[3, 3, 3]));
        let bytes = |param: &String| scopes[0].tensor(param).unwrap().bytes().to_vec();
        parameters("dc_asgd").iter().map(bytes).collect::<Vec<_>>()
    };
    let large = bits(4 << 20, Backend::Auto);
    assert_eq!(bits(0, Backend::Auto), large);
    assert_eq!(bits(100, Backend::Auto), large);
    assert_eq!(bits(4 << 20, Backend::Tcp), bits(4 << 20, Backend::Tcp));
}

#[test]
fn a_worker_that_runs_out_takes_part_without_weight() {
    for mode in [CollectiveMode::GradAllreduce, CollectiveMode::LocalSgd] {
        for steps in [[2, 5], [5, 2], [0, 3], [4, 4]] {
            let found = train("dc_asgd", &collective(mode), &options(), &steps);
            assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &steps));
        }
    }
    // The learning rate of a worker without data decays as that of the others.
    let found = train("fit_a_line_decay", &collective(CollectiveMode::GradAllreduce), &options(), &[1, 4, 4]);
    assert_equal("fit_a_line_decay", &found, &train_alone("fit_a_line_decay", &[1, 4, 4]));
}

/// Two processes that know nothing of each other; after the steps where workers average, both get the mean of their parameters.
fn average_by_hand(case: &str, (every, begin): (usize, usize), steps: [usize; 2]) -> Scope {
    let (program, startup) = local(case);
    let alone = [0, 1].map(|_| (executor(), Scope::new()));
    alone.iter().for_each(|(executor, scope)| drop(executor.run(&startup, &[], &[], scope).unwrap()));
    let average = |of: &[usize]| {
        for param in parameters(case) {
            let parts: Vec<Tensor> = of.iter().map(|rank| alone[*rank].1.tensor(&param).unwrap()).collect();
            let mut mean = parts[0].clone();
            let sums = mean.data_mut::<f32>().unwrap().iter_mut().enumerate();
            sums.for_each(|(i, v)| {
                *v = parts.iter().map(|p| p.data::<f32>().unwrap()[i]).sum::<f32>() / of.len() as f32
            });
            alone.iter().for_each(|(_, scope)| scope.set(&param, mean.clone()));
        }
    };
    // A worker that has run out is in the next average once, with what it learned since the last.
    let (mut last, mut averaged) = ([0, 0], 0);
    for step in 1..=steps.into_iter().max().unwrap() {
        for rank in (0..2).filter(|rank| step <= steps[*rank]) {
            let feeds = feed(width(case), step - 1, rank * ROWS / 2, ROWS / 2);
            let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
            alone[rank].0.run(&program, &feeds, &[], &alone[rank].1).unwrap();
            last[rank] = step;
        }
        if step <= begin || step - averaged == every {
            average(&(0..2).filter(|rank| last[*rank] > averaged).collect::<Vec<_>>());
            averaged = step;
        }
    }
    let rest: Vec<usize> = (0..2).filter(|rank| last[*rank] > averaged).collect();
    if !rest.is_empty() {
        average(&rest);
    }
    alone.into_iter().next().unwrap().1
}

#[test]
fn workers_may_average_after_some_steps_only() {
    for (every, begin) in [(2, 1), (3, 2), (3, 0), (50, 1)] {
        let config =
            Config { local_sgd_k_steps: every, local_sgd_begin_step: begin, ..collective(CollectiveMode::LocalSgd) };
        for steps in [[6, 6], [7, 7], [7, 4], [2, 7]] {
            let found = train("dc_asgd", &config, &options(), &steps);
            assert_equal("dc_asgd", &found, &average_by_hand("dc_asgd", (every, begin), steps));
        }
        let found = train_on(2, "dc_asgd", &config, &options(), &[5, 5]);
        assert_equal("dc_asgd", &found, &average_by_hand("dc_asgd", (every, begin), [5, 5]));
    }
    let never = Config { local_sgd_k_steps: 0, ..collective(CollectiveMode::LocalSgd) };
    let error = Worker::join("dc_asgd", never, 0, &free_endpoints(2), options()).err().expect("refused");
    assert_eq!(error.report().what, "parameters cannot be averaged after every 0 steps");
}

#[test]
fn workers_with_other_networks_are_refused_by_name() {
    let endpoints = free_endpoints(2);
    let error = |rank: usize| {
        let (case, endpoints) = (["dc_asgd", "fit_a_line_decay"][rank], endpoints.clone());
        let config = collective(CollectiveMode::GradAllreduce);
        std::thread::spawn(move || Worker::join(case, config, rank, &endpoints, options()).err().unwrap().to_string())
    };
    for worker in [error(0), error(1)] {
        let error = worker.join().unwrap();
        assert!(error.contains("the programs differ: rank 1 has fc_0.b_0"), "{error}");
        assert!(error.contains("where rank 0 has"), "{error}");
    }
}

#[test]
fn an_exchange_without_workers_says_what_to_do() {
    let text = "block 0 {\n var a: f32[2]\n a = c_allreduce_sum(X: a)\n }";
    let program = Program::from_text(text).unwrap();
    let error = executor().run(&program, &[("a", &noise(2, 1, 0))], &["a"], &Scope::new()).unwrap_err().to_string();
    assert!(error.contains("the workers of ring 0 are not joined"), "{error}");
}

/// CallKind the processes of the tests below do; does nothing in an ordinary run of all tests.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of a test is told who it is")]
fn one_process() {
    let var = |name: &str| std::env::var(name).ok();
    let Some(endpoints) = var("OARLOCK_TEST_ENDPOINTS") else { return };
    let Some(rank) = var("OARLOCK_TEST_RANK").or_else(|| var("OMPI_COMM_WORLD_RANK")) else { return };
    let rank: usize = rank.parse().unwrap();
    let endpoints: Vec<String> = endpoints.split(',').map(str::to_string).collect();
    let options = GroupOptions {
        backend: Backend::parse(&var("OARLOCK_TEST_BACKEND").unwrap_or_default()).unwrap(),
        elastic: var("OARLOCK_TEST_ELASTIC").is_some(),
        rejoins: var("OARLOCK_TEST_ELASTIC").is_some_and(|late| late == "late"),
        ..options()
    };
    let worker = Worker::join("dc_asgd", collective(CollectiveMode::GradAllreduce), rank, &endpoints, options).unwrap();
    let (steps, share) = (var("OARLOCK_TEST_STEPS").unwrap().parse::<usize>().unwrap(), ROWS / endpoints.len());
    for step in 0..steps {
        worker.step(&feed(8, step % 5, rank * share, share)).unwrap_or_else(|e| {
            eprintln!("{e}");
            std::process::exit(3);
        });
        if step == 2 {
            eprintln!("training");
            std::io::stderr().flush().unwrap();
        }
        if let Some(pause) = var("OARLOCK_TEST_PAUSE") {
            std::thread::sleep(Duration::from_millis(pause.parse().unwrap()));
        }
    }
    finish(&worker.executor, &worker.program, &worker.scope).unwrap();
    let sum: f64 =
        parameters("dc_asgd").iter().flat_map(|p| worker.scope.tensor(p).unwrap().to_f64()).map(f64::abs).sum();
    // At once: other processes may write to the same place.
    std::io::stderr().write_all(format!("\nsum {:x}\n", sum.to_bits()).as_bytes()).unwrap();
    worker.leave();
}

/// A process that does not outlive the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(rank: usize, endpoints: &[String], steps: usize, tcp: bool) -> Process {
    start_with(rank, endpoints, steps, tcp, &[])
}

fn start_with(rank: usize, endpoints: &[String], steps: usize, tcp: bool, more: &[(&str, &str)]) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "training::one_process", "--nocapture"]);
    command.env("OARLOCK_TEST_RANK", rank.to_string()).env("OARLOCK_TEST_ENDPOINTS", endpoints.join(","));
    command.env("OARLOCK_TEST_STEPS", steps.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("OARLOCK_TEST_BACKEND", if tcp { "tcp" } else { "auto" });
    command.envs(more.iter().copied());
    Process(command.spawn().unwrap())
}

/// Waits for the end of a process, and returns what it wrote.
pub(crate) fn output(mut process: Process, limit: Duration) -> (Option<i32>, String) {
    let until = now() + limit;
    while process.0.try_wait().unwrap().is_none() {
        assert!(now() < until, "a process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let code = process.0.wait().unwrap().code();
    let mut text = String::new();
    std::io::Read::read_to_string(process.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    std::io::Read::read_to_string(process.0.stderr.as_mut().unwrap(), &mut text).unwrap();
    (code, text)
}

#[test]
fn processes_train_and_end_with_the_same_bits() {
    for tcp in [false, true] {
        let endpoints = free_endpoints(2);
        let all: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, 5 + rank, tcp)).collect();
        let sums: Vec<String> = all
            .into_iter()
            .map(|process| {
                let (code, text) = output(process, Duration::from_secs(60));
                assert_eq!(code, Some(0), "{text}");
                text.lines().find(|line| line.starts_with("sum")).unwrap_or_default().to_string()
            })
            .collect();
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}

/// Messages of MPI are joined as those of TCP are.
#[test]
fn so_they_do_over_mpi() {
    let endpoints = free_endpoints(2);
    let tcp: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, 6, true)).collect();
    let sum_of = |process| line(&output(process, Duration::from_secs(60)).1, "sum").to_string();
    let sums: Vec<String> = tcp.into_iter().map(sum_of).collect();
    let endpoints = free_endpoints(2).join(",");
    let vars = [("OARLOCK_TEST_ENDPOINTS", &*endpoints), ("OARLOCK_TEST_STEPS", "6"), ("OARLOCK_TEST_BACKEND", "mpi")];
    let Some(text) = mpirun(2, "training::one_process", &vars) else { return };
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with("sum")).collect();
    assert_eq!(found, sums, "{text}");
}

#[test]
fn when_a_process_is_killed_all_others_name_it() {
    for (tcp, victim) in [(false, 1), (true, 1), (false, 0)] {
        let endpoints = free_endpoints(3);
        let mut all: Vec<Process> = (0..3).map(|rank| start(rank, &endpoints, usize::MAX, tcp)).collect();
        let mut lost = all.remove(victim);
        wait_for_training(&mut lost);
        let killed = now();
        lost.0.kill().unwrap();
        for process in all {
            let (code, text) = output(process, Duration::from_secs(20));
            assert_eq!(code, Some(3), "{text}");
            assert!(text.contains(&format!("rank {victim} ({}) has died", endpoints[victim])), "{text}");
        }
        assert!(killed.elapsed() < Duration::from_secs(5), "it took {:?}", killed.elapsed());
    }
}

#[test]
fn a_process_that_stands_still_is_named() {
    let endpoints = free_endpoints(2);
    let mut all: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, usize::MAX, false)).collect();
    let stopped = all.remove(1);
    std::thread::sleep(Duration::from_millis(1500));
    let id = stopped.0.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &id]).status().unwrap().success());
    let (code, text) = output(all.remove(0), Duration::from_secs(10));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("rank 1 (") && text.contains("is silent"), "{text}");
}

/// The last line of this kind that a process wrote.
fn line<'a>(text: &'a str, word: &str) -> &'a str {
    text.lines().rev().find(|line| line.starts_with(word)).unwrap_or_default()
}

fn wait_for_training(process: &mut Process) {
    let mut read = Vec::new();
    while !read.ends_with(b"training\n") {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(process.0.stderr.as_mut().unwrap(), &mut byte).unwrap(), 1, "it ended early");
        read.push(byte[0]);
    }
}

#[test]
fn those_who_are_left_go_on() {
    for (tcp, victim) in [(false, 1), (true, 2), (false, 0)] {
        let endpoints = free_endpoints(3);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "20")];
        let mut all: Vec<Process> = (0..3).map(|rank| start_with(rank, &endpoints, 40, tcp, &more)).collect();
        let mut lost = all.remove(victim);
        wait_for_training(&mut lost);
        lost.0.kill().unwrap();
        let mut sums = Vec::new();
        for process in all {
            let (code, text) = output(process, Duration::from_secs(60));
            assert_eq!(code, Some(0), "{text}");
            sums.push(line(&text, "sum").to_string());
        }
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}

/// One that is out of data goes on without the one that dies, too.
#[test]
fn so_does_one_without_data() {
    let endpoints = free_endpoints(3);
    let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "40")];
    let start = |rank: usize, steps| start_with(rank, &endpoints, steps, true, &more);
    let (first, idle, mut lost) = (start(0, 50), start(1, 4), start(2, 1000));
    wait_for_training(&mut lost);
    std::thread::sleep(Duration::from_millis(600));
    lost.0.kill().unwrap();
    let mut sums = Vec::new();
    for process in [first, idle] {
        let (code, text) = output(process, Duration::from_secs(60));
        assert_eq!(code, Some(0), "{text}");
        sums.push(line(&text, "sum").to_string());
    }
    assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
}

/// Two die in the same moment, the one that decides among them or not: nobody waits long for the second.
#[test]
fn two_may_die_at_once() {
    for (tcp, victims) in [(false, [1, 3]), (true, [0, 1]), (false, [0, 2])] {
        let endpoints = free_endpoints(4);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "20")];
        let mut all: Vec<Process> = (0..4).map(|rank| start_with(rank, &endpoints, 40, tcp, &more)).collect();
        wait_for_training(&mut all[victims[0]]);
        victims.iter().for_each(|victim| all[*victim].0.kill().unwrap());
        let killed = now();
        let left = all.into_iter().enumerate().filter(|(rank, _)| !victims.contains(rank));
        let mut sums = Vec::new();
        for (_, process) in left {
            let (code, text) = output(process, Duration::from_secs(60));
            assert_eq!(code, Some(0), "{text}");
            sums.push(line(&text, "sum").to_string());
        }
        assert!(sums.len() == 2 && !sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
        assert!(killed.elapsed() < Duration::from_secs(25), "{victims:?} took {:?}", killed.elapsed());
    }
}

#[test]
fn a_worker_that_comes_back_gets_what_the_others_have() {
    for (tcp, victim) in [(false, 1), (true, 0)] {
        let endpoints = free_endpoints(2);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "50")];
        let mut all: Vec<Process> = (0..2).map(|rank| start_with(rank, &endpoints, 200, tcp, &more)).collect();
        let mut lost = all.remove(victim);
        wait_for_training(&mut lost);
        lost.0.kill().unwrap();
        drop(lost);
        // It has fewer steps to make, and goes on without data until the other is done.
        let late = [("OARLOCK_TEST_ELASTIC", "late"), ("OARLOCK_TEST_PAUSE", "50")];
        all.push(start_with(victim, &endpoints, 20, tcp, &late));
        let mut sums = Vec::new();
        for process in all {
            let (code, text) = output(process, Duration::from_secs(90));
            assert_eq!(code, Some(0), "{text}");
            sums.push(line(&text, "sum").to_string());
        }
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}
