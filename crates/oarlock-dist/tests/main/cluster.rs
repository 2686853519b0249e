//! Clusters in one process: servers and trainers in threads, over real sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_dist::Log;
use oarlock_dist::client::{Client, ClientOptions};
use oarlock_dist::communicator::{Communicator, CommunicatorMode, CommunicatorOptions, Merge};
use oarlock_dist::saving::{fetch_whole, load_parts};
use oarlock_dist::server::{Policy, Server, ServerOptions, Summary};
use oarlock_dist::transpile::{Arguments, Config, DistributeTranspiler, Kept, Trainers};
use oarlock_dist::wire::{Floats, NetOptions};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Attr, Program, Result, Runtime};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use oarlock_testkit::{Tolerance, assert_close};

use crate::transpile::{local, noise, registry, rows_of};

/// What a cluster trains, and how.
pub(crate) struct Job {
    main: Program,
    startup: Program,
    config: Config,
    trainers: usize,
    pservers: String,
    /// Servers look for nan and infinity.
    checks: bool,
}

impl Job {
    pub(crate) fn new(case: &str, config: Config, trainers: usize, servers: usize) -> Job {
        let (main, startup) = local(case);
        Job::of(main, startup, config, trainers, servers)
    }

    /// With these servers.
    pub(crate) fn at(case: &str, config: Config, trainers: usize, pservers: &str) -> Job {
        let (main, startup) = local(case);
        Job { main, startup, config, trainers, pservers: pservers.to_string(), checks: false }
    }

    fn of(main: Program, startup: Program, config: Config, trainers: usize, servers: usize) -> Job {
        let pservers: Vec<String> = free_ports(servers).iter().map(|port| format!("127.0.0.1:{port}")).collect();
        Job { main, startup, config, trainers, pservers: pservers.join(","), checks: false }
    }

    /// The transpiler and the startup program of a trainer.
    fn transpiled(&self, trainer: usize) -> (DistributeTranspiler, Program) {
        let (mut main, mut startup) = (self.main.clone(), self.startup.clone());
        let mut transpiler = DistributeTranspiler::new(self.config.clone());
        let arguments = Arguments {
            trainer_id: trainer,
            program: &mut main,
            startup_program: &mut startup,
            pservers: &self.pservers,
            trainers: Trainers::Count(self.trainers),
            sync_mode: self.config.sync_mode,
            current_endpoint: "",
            slice_var_up: None,
            split_method: None,
        };
        transpiler.transpile(arguments).unwrap();
        (transpiler, startup)
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.pservers.split(',')
    }

    pub(crate) fn serve(&self, options: &ServerOptions) -> Vec<(Server, Scope)> {
        let (transpiler, _) = self.transpiled(0);
        let start = |endpoint: &str| {
            let (program, startup) = transpiler.get_pserver_programs(endpoint).unwrap();
            let (executor, scope) = (checking_executor(self.checks), Scope::new());
            executor.run(&startup, &[], &[], &scope).unwrap();
            let server = Server::start(&program, &scope, executor.options(), executor.runtime(), options.clone());
            (server.unwrap(), scope)
        };
        self.endpoints().map(start).collect()
    }

    /// Do trainers wait for each other?
    pub(crate) fn waits(&self) -> bool {
        self.config.sync_mode
    }

    /// A trainer that is ready for its first step.
    pub(crate) fn join(&self, trainer: usize, options: ClientOptions) -> Result<Trainer> {
        let (transpiler, startup) = self.transpiled(trainer);
        let program = transpiler.get_trainer_program()?;
        let (executor, scope) = (executor(), Scope::new());
        executor.runtime().provide(Arc::new(Client::new(options)));
        executor.run(&startup, &[], &[], &scope)?;
        Ok(Trainer { executor, scope, program })
    }

    /// A parameter as the servers hold it.
    pub(crate) fn joined(&self, servers: &[Scope], param: &str) -> Tensor {
        let (transpiler, _) = self.transpiled(0);
        crate::transpile::joined(&transpiler, servers, param)
    }

    pub(crate) fn params(&self) -> Vec<String> {
        let (transpiler, _) = self.transpiled(0);
        transpiler.placement().unwrap().iter().map(|(param, _)| param.to_string()).collect()
    }
}

pub(crate) struct Trainer {
    executor: Executor,
    scope: Scope,
    program: Program,
}

impl Trainer {
    pub(crate) fn step(&self, feeds: &[(&str, Tensor)]) -> Result<()> {
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
        self.executor.run(&self.program, &feeds, &[], &self.scope).map(drop)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.executor.runtime()
    }

    pub(crate) fn client(&self) -> Arc<Client> {
        Client::of(self.executor.runtime())
    }

    /// Starts a communicator, as `fleet.init_worker` does.
    pub(crate) fn communicate(&self, options: CommunicatorOptions) -> Arc<Communicator> {
        let communicator = Arc::new(Communicator::new(&self.program, &self.scope, self.client(), options));
        let runtime = self.executor.runtime();
        runtime.provide(communicator.clone());
        let between = communicator.clone();
        runtime.set_between_runs(Some(Arc::new(move || between.settle())));
        communicator.start().unwrap();
        communicator
    }

    pub(crate) fn leave(&self) {
        self.client().leave().unwrap();
    }
}

fn executor() -> Executor {
    checking_executor(false)
}

fn checking_executor(check_nan_inf: bool) -> Executor {
    let options = ExecOptions {
        registry: Arc::new(registry()),
        threads: 1,
        fuse: false,
        without_fusions: Vec::new(),
        check_nan_inf,
    };
    Executor::with_runtime(options, Arc::new(Runtime::new(1)))
}

fn free_ports(count: usize) -> Vec<u16> {
    // All are held until all are found, so that none is found twice.
    let held: Vec<_> = (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|l| l.local_addr().unwrap().port()).collect()
}

pub(crate) fn quiet() -> ServerOptions {
    ServerOptions { log: Log::silent(), deadline: Duration::from_secs(30), ..ServerOptions::default() }
}

pub(crate) fn trainer_options() -> ClientOptions {
    ClientOptions { log: Log::silent(), deadline: Duration::from_secs(30), ..ClientOptions::default() }
}

pub(crate) fn wait_all(servers: Vec<(Server, Scope)>) -> (Vec<Summary>, Vec<Scope>) {
    servers.into_iter().map(|(server, scope)| (server.wait(|| false).unwrap(), scope)).unzip()
}

pub(crate) fn dense_feed(width: usize, step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
    let whole = [("x", noise(8, width, step)), ("y", noise(8, 1, step + 1000))];
    whole.into_iter().map(|(name, t)| (name, rows_of(&t, from, count))).collect()
}

fn ids(step: usize, seed: usize, from: usize, count: usize, range: usize) -> Tensor {
    let mut tensor = Tensor::zeros(DType::I64, Dims::from([count, 1]));
    let data = tensor.data_mut::<i64>().unwrap();
    data.iter_mut().enumerate().for_each(|(i, id)| *id = (((i + from) * 31 + step * 17 + seed * 7) % range) as i64);
    tensor
}

/// The inputs of `half_async`: two ids, numbers, and a label.
pub(crate) fn sparse_feed(step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
    vec![
        ("C1", ids(step, 1, from, count, 100)),
        ("C2", ids(step, 2, from, count, 100)),
        ("x", rows_of(&noise(8, 8, step), from, count)),
        ("y", rows_of(&noise(8, 1, step + 1000), from, count)),
    ]
}

type Feed = fn(usize, usize, usize) -> Vec<(&'static str, Tensor)>;

/// Two trainers make steps together; the parameters end where one process with the joined batch ends.
fn trains_as_one_process(job: &Job, feed: Feed, steps: usize) {
    let servers = job.serve(&quiet());
    let trainers: Vec<JoinHandle<()>> = (0..job.trainers)
        .map(|t| {
            let (joined, count) = (job.join(t, trainer_options()).unwrap(), 8 / job.trainers);
            std::thread::spawn(move || {
                (0..steps).for_each(|step| joined.step(&feed(step, t * count, count)).unwrap());
                joined.leave();
            })
        })
        .collect();
    trainers.into_iter().for_each(|t| t.join().unwrap());
    let (summaries, scopes) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == steps as u64 && s.repeats == 0), "{summaries:?}");
    let alone = train_alone(job, feed, steps);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

fn train_alone(job: &Job, feed: Feed, steps: usize) -> Scope {
    let (executor, scope) = (executor(), Scope::new());
    executor.run(&job.startup, &[], &[], &scope).unwrap();
    let alone = Trainer { executor, scope, program: job.main.clone() };
    (0..steps).for_each(|step| alone.step(&feed(step, 0, 8)).unwrap());
    alone.scope
}

pub(crate) fn small(min_block_size: usize) -> Config {
    Config { min_block_size, ..Config::fluid() }
}

#[test]
fn sync_training_equals_one_process() {
    trains_as_one_process(&Job::new("dc_asgd", small(64), 2, 2), |s, f, c| dense_feed(8, s, f, c), 5);
    trains_as_one_process(&Job::new("fit_a_line_decay", small(4), 2, 2), |s, f, c| dense_feed(13, s, f, c), 5);
    trains_as_one_process(&Job::new("fit_a_line_decay", small(4), 1, 2), |s, f, c| dense_feed(13, s, f, c), 3);
}

#[test]
fn so_does_training_with_a_table_on_servers() {
    trains_as_one_process(&Job::new("half_async", small(64), 2, 2), sparse_feed, 5);
}

/// Of three trainers one or the other comes last: the sums of their gradients are the same to the last bit.
#[test]
fn the_order_of_arrival_does_not_show() {
    let cases: [(&str, Feed); 2] = [("dc_asgd", |s, f, c| dense_feed(8, s, f, c)), ("half_async", sparse_feed)];
    for (case, feed) in cases {
        let mut first: Option<Vec<Tensor>> = None;
        for pauses in [[0, 20, 40], [40, 20, 0], [20, 0, 40]] {
            let job = Job::new(case, small(64), 3, 2);
            let servers = job.serve(&quiet());
            let trainers: Vec<Trainer> = (0..3).map(|t| job.join(t, trainer_options()).unwrap()).collect();
            std::thread::scope(|scope| {
                for (t, (trainer, pause)) in trainers.iter().zip(pauses).enumerate() {
                    scope.spawn(move || {
                        for step in 0..3 {
                            std::thread::sleep(Duration::from_millis(pause));
                            trainer.step(&feed(step, t * 2, 2)).unwrap();
                        }
                        trainer.leave();
                    });
                }
            });
            let (_, scopes) = wait_all(servers);
            let params: Vec<Tensor> = job.params().iter().map(|param| job.joined(&scopes, param)).collect();
            assert!(*first.get_or_insert_with(|| params.clone()) == params, "{case}, {pauses:?}");
        }
    }
}

/// Two jobs with the same names in one process, at the same time: each learns what it learns alone.
#[test]
fn two_clusters_in_one_process_do_not_touch_each_other() {
    std::thread::scope(|scope| {
        for shift in [0, 100] {
            scope.spawn(move || {
                let job = Job::new("half_async", small(64), 2, 2);
                let feed: Feed = if shift == 0 { sparse_feed } else { |s, f, c| sparse_feed(s + 100, f, c) };
                trains_as_one_process(&job, feed, 5);
            });
        }
    });
}

/// Of the tables of a program, make hashed ones.
fn hash_tables(main: &mut Program) {
    for op in &mut main.global_mut().ops {
        if op.attrs.get("is_distributed").is_some() {
            op.attrs.set("is_distributed", true);
            op.attrs.set("remote_prefetch", false);
        }
    }
}

#[test]
fn rows_of_a_hashed_table_are_trained_by_the_optimizer_that_was_asked_for() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    let job = Job::of(main, startup, small(64), 2, 2);
    let servers = job.serve(&quiet());
    let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, trainer_options()).unwrap()).collect();
    let steps = |t: usize| {
        let trainer = &trainers[t];
        move || (0..4).for_each(|step| trainer.step(&sparse_feed(step, t * 4, 4)).unwrap())
    };
    std::thread::scope(|scope| {
        scope.spawn(steps(0));
        scope.spawn(steps(1));
    });
    trainers.iter().for_each(Trainer::leave);
    let (summaries, _) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == 4), "{summaries:?}");
}

/// The ids that have a row in table `tab`, ascending.
fn ids_kept(job: &Job, trainer: &Trainer) -> Vec<i64> {
    let kept = job.transpiled(0).0.kept().unwrap();
    let table: Vec<&Kept> = kept.iter().filter(|k| *k.var.name == *"tab").collect();
    let whole = fetch_whole(&table, &trainer.client(), 0, &trainer.scope).unwrap();
    let value = whole.find("tab").expect("a table");
    let mut ids = value.read().rows().unwrap().rows.clone();
    ids.sort_unstable();
    ids
}

/// An id has no row before it was looked up often enough, and then it has one.
#[test]
fn ids_must_come_often_enough_to_get_a_row() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    main.global_mut().ops.iter_mut().filter(|op| op.op_type.starts_with("lookup_table")).for_each(|op| {
        op.attrs.set("entry", "count_filter_entry:3".to_string());
    });
    let job = Job::of(main, startup, small(64), 1, 2);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let feed = sparse_feed(0, 0, 8);
    for step in 0..4 {
        assert_eq!(ids_kept(&job, &trainer).is_empty(), step < 3, "before step {step}");
        trainer.step(&feed).unwrap();
    }
    let mut looked_up: Vec<i64> = feed[..2].iter().flat_map(|(_, ids)| ids.data::<i64>().unwrap().to_vec()).collect();
    looked_up.sort_unstable();
    looked_up.dedup();
    assert_eq!(ids_kept(&job, &trainer), looked_up);
    trainer.leave();
    wait_all(servers);
}

pub(crate) fn half_async() -> Config {
    Config { sync_mode: false, half_async: true, runtime_split_send_recv: true, ..small(64) }
}

fn asynchronous() -> Config {
    Config { sync_mode: false, runtime_split_send_recv: true, ..small(64) }
}

/// One trainer that waits for nobody is alone: it trains as one process does.
#[test]
fn one_half_async_trainer_equals_one_process() {
    for config in [half_async(), Config { sync_mode: false, ..small(64) }] {
        let job = Job::new("half_async", config, 1, 2);
        let servers = job.serve(&quiet());
        let trainer = job.join(0, trainer_options()).unwrap();
        (0..5).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        trainer.leave();
        let (_, scopes) = wait_all(servers);
        let alone = train_alone(&job, sparse_feed, 5);
        for param in job.params() {
            let expected = alone.tensor(&param).expect("trained");
            assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::EXACT);
        }
    }
}

/// The sum of all elements of the difference between two tensors.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64().iter().zip(b.to_f64()).map(|(a, b)| (a - b).abs()).sum()
}

#[test]
fn async_trainers_send_and_fetch_beside_their_work() {
    for (independent_recv_thread, merge) in [(true, Merge::Mean), (false, Merge::Sum)] {
        let job = Job::new("half_async", asynchronous(), 2, 2);
        let servers = job.serve(&quiet());
        let before: Vec<Tensor> = {
            let scopes: Vec<Scope> = servers.iter().map(|(_, scope)| scope.clone()).collect();
            job.params().iter().map(|param| job.joined(&scopes, param)).collect()
        };
        let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, trainer_options()).unwrap()).collect();
        std::thread::scope(|scope| {
            for (t, trainer) in trainers.iter().enumerate() {
                scope.spawn(move || {
                    let options = CommunicatorOptions {
                        trainer: t,
                        trainers: 2,
                        max_merge_var_num: 3,
                        send_queue_size: 4,
                        independent_recv_thread,
                        merge,
                        ..CommunicatorOptions::default()
                    };
                    let communicator = trainer.communicate(options);
                    (0..20).for_each(|step| trainer.step(&sparse_feed(step, t * 4, 4)).unwrap());
                    communicator.stop().unwrap();
                    trainer.leave();
                });
            }
        });
        let (summaries, scopes) = wait_all(servers);
        assert!(summaries.iter().all(|s| s.pushes >= 14 && s.pushes <= 40), "{summaries:?}");
        for (param, before) in job.params().iter().zip(&before) {
            let after = job.joined(&scopes, param);
            assert!(distance(&after, before) > 0.0, "{param} did not move");
            assert!(after.to_f64().iter().all(|v| v.is_finite()), "{param}");
        }
    }
}

/// Trains some steps through a communicator; returns the pushes of a server before it stopped and in all, and whether new
/// parameters came.
fn communicated(steps: usize, options: CommunicatorOptions) -> (u64, u64, bool) {
    let job = Job::new("half_async", asynchronous(), 1, 1);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let dense = job.params().into_iter().find(|param| param != "tab").expect("a dense parameter");
    let before = trainer.scope.tensor(&dense).unwrap();
    let communicator = trainer.communicate(options);
    (0..steps).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    let pushed = servers[0].0.summary().pushes;
    trainer.step(&sparse_feed(steps, 0, 8)).unwrap();
    communicator.stop().unwrap();
    let came = trainer.scope.tensor(&dense).unwrap() != before;
    trainer.leave();
    (pushed, wait_all(servers).0[0].pushes, came)
}

#[test]
fn every_knob_of_the_communicator_turns_something() {
    let patient = CommunicatorOptions {
        max_merge_var_num: 100,
        send_queue_size: 100,
        send_wait_times: 3000,
        ..CommunicatorOptions::default()
    };
    // It waits for more, and sends all it has in one when it stops.
    assert_eq!(communicated(9, patient.clone()), (0, 1, false));
    // As soon as as many are there as become one.
    assert_eq!(communicated(9, CommunicatorOptions { max_merge_var_num: 3, ..patient.clone() }), (3, 4, true));
    // As soon as no more may wait.
    assert_eq!(communicated(9, CommunicatorOptions { send_queue_size: 3, ..patient.clone() }), (3, 4, true));
    // As soon as it waited long enough.
    let (pushed, ..) = communicated(9, CommunicatorOptions { send_wait_times: 1, ..patient.clone() });
    assert!(pushed > 0);
    // Parameters come after enough was sent, by either way.
    for independent_recv_thread in [true, false] {
        for (min_send_grad_num_before_recv, came) in [(2, true), (50, false)] {
            let options = CommunicatorOptions {
                max_merge_var_num: 1,
                independent_recv_thread,
                min_send_grad_num_before_recv,
                ..patient.clone()
            };
            assert_eq!(communicated(9, options), (9, 10, came), "{min_send_grad_num_before_recv}");
        }
    }
}

fn geo() -> Config {
    Config { sync_mode: false, runtime_split_send_recv: true, geo_sgd_mode: true, ..small(64) }
}

/// Alone, a GEO trainer and its servers end where one process ends: nothing of what it learned is lost, the last steps
/// included, and what servers send back is its own.
#[test]
fn one_geo_trainer_equals_one_process() {
    SIZES.into_iter().for_each(one_geo_trainer);
}

/// Frames as they are, and so small ones that the rows of a table take several.
const SIZES: [u64; 2] = [1 << 30, 4100];

fn one_geo_trainer(max_frame: u64) {
    let job = Job::new("half_async", geo(), 1, 2);
    let servers = job.serve(&framed_server(max_frame));
    let trainer = job.join(0, framed_trainer(max_frame)).unwrap();
    let vars = job.transpiled(0).0.geo_vars().unwrap();
    let mode = CommunicatorMode::Geo { push_nums: 3, vars };
    let communicator = trainer.communicate(CommunicatorOptions { mode, ..CommunicatorOptions::default() });
    (0..10).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    communicator.stop().unwrap();
    trainer.leave();
    let (summaries, scopes) = wait_all(servers);
    // However many messages that took: three steps or more each time, and the rest.
    summaries.iter().for_each(|summary| assert!((1..=4).contains(&summary.pushes), "{}", summary.pushes));
    let alone = train_alone(&job, sparse_feed, 10);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-5, 1e-6));
        assert_close(&param, &trainer.scope.tensor(&param).unwrap(), &expected, Tolerance::new(1e-5, 1e-6));
    }
}

/// What one GEO trainer learned about a row reaches another that never looked it up.
#[test]
fn geo_trainers_learn_every_row_from_each_other() {
    SIZES.into_iter().for_each(two_geo_trainers);
}

fn framed_server(max_frame: u64) -> ServerOptions {
    let net = NetOptions { max_frame, ..quiet().net };
    ServerOptions { net, ..quiet() }
}

fn framed_trainer(max_frame: u64) -> ClientOptions {
    let net = NetOptions { max_frame, ..trainer_options().net };
    ClientOptions { net, ..trainer_options() }
}

fn two_geo_trainers(max_frame: u64) {
    let job = Job::new("half_async", geo(), 2, 2);
    let servers = job.serve(&framed_server(max_frame));
    let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, framed_trainer(max_frame)).unwrap()).collect();
    let before = trainers[1].scope.tensor("tab").unwrap();
    let communicators: Vec<Arc<Communicator>> = (0..2)
        .map(|t| {
            let vars = job.transpiled(t).0.geo_vars().unwrap();
            let mode = CommunicatorMode::Geo { push_nums: 1, vars };
            trainers[t].communicate(CommunicatorOptions {
                mode,
                trainer: t,
                trainers: 2,
                ..CommunicatorOptions::default()
            })
        })
        .collect();
    // Only the first one looks these ids up; the second one learns of them.
    (0..6).for_each(|step| trainers[0].step(&sparse_feed(step, 0, 8)).unwrap());
    communicators[0].stop().unwrap();
    (0..3).for_each(|step| trainers[1].step(&sparse_feed(step + 50, 0, 4)).unwrap());
    communicators[1].stop().unwrap();
    let learned = trainers[1].scope.tensor("tab").unwrap();
    let first = ids(0, 1, 0, 8, 100);
    let row = *first.data::<i64>().unwrap().last().unwrap() as usize;
    let of = |t: &Tensor| t.to_f64()[row * 4..row * 4 + 4].to_vec();
    assert_ne!(of(&learned), of(&before), "row {row} was trained by the other trainer only");
    trainers.iter().for_each(Trainer::leave);
    let (_, scopes) = wait_all(servers);
    let servers_row = of(&job.joined(&scopes, "tab"));
    assert!(
        of(&learned).iter().zip(&servers_row).all(|(a, b)| (a - b).abs() < 1e-6),
        "{:?} {servers_row:?}",
        of(&learned)
    );
}

/// The faster of two trainers is never more steps ahead than the bound says; without the slower one it may go on.
#[test]
fn a_bound_holds_the_faster_trainer_back() {
    let job = Job::new("half_async", Config { sync_mode: false, max_staleness: Some(2), ..small(64) }, 2, 2);
    let servers = job.serve(&quiet());
    let [fast, slow] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let made = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 0..8 {
                fast.step(&sparse_feed(step, 0, 4)).unwrap();
                made.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        for step in 0..4 {
            std::thread::sleep(Duration::from_millis(100));
            assert!(made.load(std::sync::atomic::Ordering::SeqCst) <= step + 2);
            slow.step(&sparse_feed(step, 4, 4)).unwrap();
        }
        slow.leave();
    });
    assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 8);
    fast.leave();
    let (summaries, _) = wait_all(servers);
    for summary in summaries {
        assert_eq!((summary.pushes, summary.staleness.pushes), (12, 12));
        assert!(summary.staleness.most > 0 && summary.staleness.most <= 6, "{:?}", summary.staleness);
    }
}

/// Numbers of 16 bits on the wire change results by their rounding, and not at all what is small or saved.
#[test]
fn payloads_of_16_bits_round_and_no_more() {
    for floats in [Floats::Bf16, Floats::F16] {
        let job = Job::new("half_async", small(64), 1, 2);
        let servers = job.serve(&quiet());
        let trainer = job.join(0, ClientOptions { floats, ..trainer_options() }).unwrap();
        (0..5).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        trainer.leave();
        let (_, scopes) = wait_all(servers);
        let alone = train_alone(&job, sparse_feed, 5);
        let mut rounded = false;
        for param in job.params() {
            let (expected, got) = (alone.tensor(&param).expect("trained"), job.joined(&scopes, &param));
            assert_close(&param, &got, &expected, Tolerance::new(2e-2, 2e-2));
            rounded |= got.to_f64().iter().zip(expected.to_f64()).any(|(a, b)| (a - b).abs() > 1e-6);
        }
        assert!(rounded, "{floats:?}");
    }
}

#[test]
fn a_nan_is_laid_at_the_door_of_its_trainer() {
    for mode in [true, false] {
        let config = Config { sync_mode: mode, ..small(64) };
        let job = Job { checks: true, ..Job::new("dc_asgd", config, 2, 1) };
        let servers = job.serve(&with_policy(Policy::Shrink));
        let [good, bad] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
        let feed = [("x", Tensor::from_slice([4, 8], &[f32::NAN; 32]).unwrap()), ("y", noise(4, 1, 0))];
        let error = bad.step(&feed).unwrap_err();
        assert_eq!(error.kind(), oarlock_ir::Kind::Nan, "{error}");
        assert!(error.to_string().contains("sent by trainer 1"), "{error}");
        // With the check on, the trainer finds it first, and says who it is.
        let checking = Trainer { executor: checking_executor_of(&bad), ..bad };
        let error = checking.step(&feed).unwrap_err();
        assert!(error.report().what.starts_with("in trainer 1, `"), "{error}");
        checking.die();
        good.step(&dense_feed(8, 0, 0, 8)).unwrap();
        good.leave();
        wait_all(servers);
    }
}

fn checking_executor_of(trainer: &Trainer) -> Executor {
    let options = ExecOptions { check_nan_inf: true, ..trainer.executor.options().clone() };
    Executor::with_runtime(options, trainer.executor.runtime().clone())
}

impl Trainer {
    /// Ends without a word, as a process does that is killed.
    fn die(self) {
        self.client().abandon();
    }
}

fn with_policy(policy: Policy) -> ServerOptions {
    ServerOptions { policy, ..quiet() }
}

#[test]
fn a_lost_trainer_ends_the_job_with_its_name() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Fail));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    std::thread::scope(|scope| {
        let step = scope.spawn(|| first.step(&dense_feed(8, 0, 0, 4)));
        second.step(&dense_feed(8, 0, 4, 4)).unwrap();
        step.join().unwrap().unwrap();
    });
    second.die();
    // The servers give up long before a request of 30 s would.
    let error = first.step(&dense_feed(8, 1, 0, 4)).unwrap_err();
    assert_eq!(error.report().what, "trainer 1 was lost in step 2, and the job cannot go on without it");
    // A server stays to tell everybody who is still there.
    first.die();
    for (server, _) in servers {
        assert!(server.wait(|| false).unwrap_err().report().what.starts_with("trainer 1 was lost in step 2"));
    }
}

/// A process that was taken for lost and replaced may wake up again: it changes nothing any more.
#[test]
fn an_older_process_changes_nothing_any_more() {
    let job = Job::new("dc_asgd", Config { sync_mode: false, ..small(64) }, 1, 1);
    let servers = job.serve(&quiet());
    let older = job.join(0, trainer_options()).unwrap();
    older.step(&dense_feed(8, 0, 0, 8)).unwrap();
    let newer = job.join(0, trainer_options()).unwrap();
    let error = older.step(&dense_feed(8, 1, 0, 8)).unwrap_err();
    assert!(error.report().what.contains("another process took over the number of this trainer"), "{error}");
    older.die();
    newer.step(&dense_feed(8, 1, 0, 8)).unwrap();
    newer.leave();
    let (summaries, _) = wait_all(servers);
    assert_eq!(summaries[0].pushes, 2);
}

#[test]
fn or_the_others_go_on_without_it() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Shrink));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    second.die();
    // Its gradients are the mean now: the same as of one process.
    (0..3).for_each(|step| first.step(&dense_feed(8, step, 0, 8)).unwrap());
    first.leave();
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, |s, f, c| dense_feed(8, s, f, c), 3);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

/// One that comes back takes part again, from the same step on at all servers.
#[test]
fn and_it_may_come_back() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Shrink));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let (steps, made) = (400, std::sync::atomic::AtomicUsize::new(0));
    let came_back = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            for step in 0..steps {
                first.step(&dense_feed(8, step % 5, 0, 4)).unwrap();
                made.store(step + 1, Ordering::Release);
                std::thread::sleep(Duration::from_millis(1));
            }
            first.leave();
        });
        (0..2).for_each(|step| second.step(&dense_feed(8, step, 4, 4)).unwrap());
        second.die();
        // They stop at the next step until they notice that it is gone.
        for _ in 0..1000 {
            if made.load(Ordering::Acquire) > 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let second = job.join(1, trainer_options()).unwrap();
        let done = second.client().done() as usize;
        (done..steps).for_each(|step| second.step(&dense_feed(8, step % 5, 4, 4)).unwrap());
        second.leave();
        others.join().unwrap();
        done
    });
    assert!(2 < came_back && came_back < steps, "{came_back}");
    let (summaries, scopes) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == steps as u64), "{summaries:?}");
    // One process whose batches are those of all who took part.
    let (executor, scope) = (executor(), Scope::new());
    executor.run(&job.startup, &[], &[], &scope).unwrap();
    let alone = Trainer { executor, scope, program: job.main.clone() };
    for step in 0..steps {
        let rows = if (2..came_back).contains(&step) { 4 } else { 8 };
        alone.step(&dense_feed(8, step % 5, 0, rows)).unwrap();
    }
    for param in job.params() {
        let expected = alone.scope.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-4, 1e-5));
    }
}

/// A trainer is killed in every step, comes back under its number, and repeats the step: nothing shows in the result.
#[test]
fn or_they_wait_and_nothing_is_lost() {
    let job = Job::new("half_async", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Wait));
    let steps = 4;
    std::thread::scope(|scope| {
        let first = job.join(0, trainer_options()).unwrap();
        scope.spawn(move || {
            (0..steps).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            first.leave();
        });
        let mut second = job.join(1, trainer_options()).unwrap();
        for step in 0..steps {
            second.step(&sparse_feed(step, 4, 4)).unwrap();
            if step + 1 < steps {
                second.die();
                second = job.join(1, trainer_options()).unwrap();
                assert_eq!(second.client().done(), step as u64 + 1);
            }
        }
        second.leave();
    });
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, sparse_feed, steps);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

/// The same with rows by id, of which some go by themselves: they are those of trainers that never died.
#[test]
fn so_it_is_with_rows_that_go_by_themselves() {
    let job = || {
        let (mut main, startup) = local("half_async");
        hash_tables(&mut main);
        main.global_mut().ops.iter_mut().filter(|op| op.op_type.starts_with("lookup_table")).for_each(|op| {
            op.attrs.set("evict", "unseen=2".to_string());
        });
        Job::of(main, startup, small(64), 2, 2)
    };
    let steps = 5;
    let kept = |dies: bool| {
        let job = job();
        let servers = job.serve(&with_policy(Policy::Wait));
        let ids = std::thread::scope(|scope| {
            let first = job.join(0, trainer_options()).unwrap();
            let job = &job;
            let other = scope.spawn(move || {
                let mut second = job.join(1, trainer_options()).unwrap();
                for step in 0..steps {
                    second.step(&sparse_feed(step, 4, 4)).unwrap();
                    if dies && step + 1 < steps {
                        second.die();
                        second = job.join(1, trainer_options()).unwrap();
                        assert_eq!(second.client().done(), step as u64 + 1);
                    }
                }
                second.leave();
            });
            (0..steps).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            other.join().unwrap();
            let ids = ids_kept(job, &first);
            first.leave();
            ids
        });
        wait_all(servers);
        ids
    };
    let (disturbed, undisturbed) = (kept(true), kept(false));
    assert_eq!(disturbed, undisturbed);
    let seen = |steps: std::ops::Range<usize>| -> Vec<i64> {
        let feeds = steps.flat_map(|step| sparse_feed(step, 0, 8));
        feeds
            .filter(|(name, _)| *name != "y")
            .filter_map(|(_, t)| t.data::<i64>().ok().map(<[i64]>::to_vec))
            .flatten()
            .collect()
    };
    let (late, all) = (seen(3..steps), seen(0..steps));
    assert!(undisturbed.iter().all(|id| late.contains(id)), "{undisturbed:?} of {late:?}");
    assert!(all.iter().any(|id| !undisturbed.contains(id)), "some went");
}

/// All that servers keep, by name: ids (none of dense variables) and numbers.
fn everything(job: &Job, trainer: &Trainer) -> BTreeMap<String, Vec<(i64, Vec<f64>)>> {
    let kept = job.transpiled(0).0.kept().unwrap();
    let whole = fetch_whole(&kept.iter().collect::<Vec<&Kept>>(), &trainer.client(), 0, &trainer.scope).unwrap();
    let value = |name: String| {
        let var = whole.find(&name).expect("fetched");
        let mut rows = match &*var.read() {
            Value::Rows(rows) => {
                let (width, numbers) = (rows.value.dims().matrix(1).1, rows.value.to_f64());
                rows.rows.iter().zip(numbers.chunks(width)).map(|(id, row)| (*id, row.to_vec())).collect::<Vec<_>>()
            }
            other => vec![(0, other.dense().unwrap().to_f64())],
        };
        rows.sort_by_key(|(id, _)| *id);
        (name, rows)
    };
    kept.iter().map(|k| value(k.var.name.to_string())).collect()
}

/// The trainer's program, but the second server misses variables, and refuses what it gets.
fn send_too_little_to(second: &str, program: &mut Program) {
    for op in program.global_mut().ops.iter_mut().filter(|op| op.op_type == "send") {
        let Some(Attr::Strings(endpoints)) = op.attrs.get("epmap").cloned() else { continue };
        let is_first = |at: &usize| endpoints[*at] != second;
        let kept: Vec<usize> = (0..endpoints.len()).filter(is_first).collect();
        let inputs = op.inputs.get("X").to_vec();
        // The rows of a hashed table go to both by their ids.
        if inputs.len() != endpoints.len() {
            continue;
        }
        op.inputs.set("X", kept.iter().map(|at| inputs[*at].clone()).collect::<Vec<_>>());
        op.attrs.set("epmap", kept.iter().map(|at| endpoints[*at].clone()).collect::<Vec<String>>());
    }
    program.global_mut().ops.retain(|op| op.op_type != "send" || !op.inputs.get("X").is_empty());
}

/// Four steps of two trainers. If asked for, the second one is lost in the third step, which only one of the servers can make; it
/// comes back and repeats it.
fn four_steps(job: &Job, lost: bool) -> BTreeMap<String, Vec<(i64, Vec<f64>)>> {
    let servers = job.serve(&with_policy(Policy::Wait));
    let [first, mut second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let kept = std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            (0..4).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            first
        });
        for step in 0..4 {
            if lost && step == 2 {
                send_too_little_to(job.endpoints().nth(1).unwrap(), &mut second.program);
                let error = second.step(&sparse_feed(step, 4, 4)).unwrap_err();
                assert!(error.report().what.contains("the push of trainer 1 lacks"), "{error}");
                second.die();
                second = job.join(1, trainer_options()).unwrap();
                assert_eq!(second.client().done(), 2);
            }
            second.step(&sparse_feed(step, 4, 4)).unwrap();
        }
        let first = first.join().unwrap();
        let kept = everything(job, &first);
        first.leave();
        second.leave();
        kept
    });
    wait_all(servers);
    kept
}

#[test]
fn a_step_that_one_server_made_is_repeated_with_what_was_before_it() {
    // `adam` changes all rows of a table that is cut, and of one that is hashed those that a gradient names.
    for (hashed, adam) in [(false, false), (true, false), (false, true)] {
        let (mut main, startup) = local(if adam { "sync_full" } else { "half_async" });
        if hashed {
            hash_tables(&mut main);
        }
        let job = |startup: &Program| Job::of(main.clone(), startup.clone(), small(64), 2, 2);
        let undisturbed = four_steps(&job(&startup), false);
        assert!(four_steps(&job(&startup), true) == undisturbed, "hashed: {hashed}, adam: {adam}");
    }
}

#[test]
fn programs_that_do_not_belong_together_refuse_each_other() {
    let job = Job::new("dc_asgd", small(64), 1, 2);
    let servers = job.serve(&quiet());
    let error = another_program(&job).join(0, trainer_options()).err().expect("it serves another program");
    assert!(error.report().what.starts_with("trainer 0 runs another program than server 127.0.0.1:"), "{error}");
    drop(servers);
}

/// Another network at the same servers.
fn another_program(job: &Job) -> Job {
    Job { pservers: job.pservers.clone(), ..Job::new("fit_a_line_decay", small(4), 1, 2) }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let job = Job::new("dc_asgd", small(64), 1, 1);
    let options = ClientOptions { deadline: Duration::from_millis(400), ..trainer_options() };
    let error = job.join(0, options).err().unwrap();
    assert!(error.to_string().contains(&job.pservers), "{error}");
}

/// What servers keep is fetched whole, and a server finds its parts again in files of whole variables.
#[test]
fn what_servers_keep_is_saved_as_one_machine_would() {
    let job = Job::new("half_async", small(64), 1, 2);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    (0..3).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    let kept = job.transpiled(0).0.kept().unwrap();
    let all: Vec<&Kept> = kept.iter().collect();
    let whole = fetch_whole(&all, &trainer.client(), 0, &trainer.scope).unwrap();
    trainer.leave();
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, sparse_feed, 3);
    let folder = std::env::temp_dir().join(format!("oarlock-kept-{}", std::process::id()));
    let store = oarlock_io::Local::at(&folder);
    let vars = oarlock_io::persistables(&job.main);
    for var in &vars {
        let expected = alone.tensor(&var.name).unwrap();
        assert_close(&var.name, &whole.tensor(&var.name).unwrap(), &expected, Tolerance::new(1e-6, 1e-6));
    }
    oarlock_io::save_vars(&store, None, &vars, &whole).unwrap();
    for (server, scope) in scopes.iter().enumerate() {
        let loaded = Scope::new();
        assert!(load_parts(&store, None, &kept, server, None, &loaded).unwrap().is_empty());
        for name in loaded.names() {
            assert_eq!(loaded.tensor(&name), scope.tensor(&name), "{name}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
