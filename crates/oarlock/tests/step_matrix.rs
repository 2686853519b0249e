//! One step, whatever runs it: {`run`, a data set, replicas} x {one process, parameter servers in four modes, collective workers,
//! an elastic group}. Every combination trains the same network on the same rows.

use std::path::PathBuf;
use std::time::Duration;

use oarlock::collective::GroupOptions;
use oarlock::data::{Format, QueueDataset, SlotSpec, SlotType, Source};
use oarlock::fleet::{JobProcess, Place, Role, Strategy};
use oarlock::launch::{Ask, plan};
use oarlock::prelude::*;
use oarlock::ps::client::ClientOptions;
use oarlock::ps::server::ServerOptions;
use oarlock::replicas::{Feeds, Replicas};
use oarlock::trainer::{Printer, Show, TrainOptions, train_from_dataset};
use oarlock::transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers};
use oarlock::{Executor, JobOptions, Program};

const STEPS: usize = 6;
const ROWS: usize = 8;
const WIDTH: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Runner {
    Run,
    Dataset,
    Replicas,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Setting {
    Local,
    Servers(Strategy),
    Collective { elastic: bool },
}

/// The results of a combination.
#[derive(Debug, PartialEq)]
struct Learned(Vec<f64>);

fn network() -> Net {
    let mut net = Net::new();
    net.seed(7);
    let x = net.data("x", Data::shape([WIDTH as i64])).unwrap();
    let y = net.data("y", Data::shape([1])).unwrap();
    let hidden = net.fc(&x, Fc::size(6).act("tanh").param_attr("hidden")).unwrap();
    let out = net.fc(&hidden, Fc::size(1).param_attr("out")).unwrap();
    let cost = net.square_error_cost(&out, &y).unwrap();
    let loss = net.mean(&cost).unwrap();
    optimizer::sgd(0.1).minimize(&mut net, &loss).unwrap();
    net
}

fn row(step: usize, row: usize) -> ([f32; WIDTH], f32) {
    let at = |i: usize| ((step * 31 + row * 17 + i * 7) % 13) as f32 / 8.0 - 0.75;
    let x = std::array::from_fn(at);
    (x, x[0] - x[1] + 0.5)
}

/// The rows of one of `workers` in a step.
fn share(worker: usize, workers: usize) -> std::ops::Range<usize> {
    let count = ROWS / workers;
    worker * count..(worker + 1) * count
}

fn batch(step: usize, rows: std::ops::Range<usize>) -> [Tensor; 2] {
    let found: Vec<_> = rows.map(|r| row(step, r)).collect();
    let x: Vec<f32> = found.iter().flat_map(|(x, _)| *x).collect();
    let y: Vec<f32> = found.iter().map(|(_, y)| *y).collect();
    [Tensor::from_slice([y.len(), WIDTH], &x).unwrap(), Tensor::from_slice([y.len(), 1], &y).unwrap()]
}

/// A file of all rows of a worker, removed in the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, rows: &std::ops::Range<usize>) -> File {
        let line = |(x, y): ([f32; WIDTH], f32)| format!("{WIDTH} {} {} {} {} 1 {y}\n", x[0], x[1], x[2], x[3]);
        let lines = (0..STEPS).flat_map(|step| rows.clone().map(move |r| line(row(step, r))));
        let path = std::env::temp_dir().join(format!("oarlock-step-matrix-{}-{name}", std::process::id()));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        File(path)
    }

    fn dataset(&self, batch_size: usize) -> QueueDataset {
        let dense =
            |name, width| SlotSpec::dense(name, SlotType::Float, oarlock::ir::Shape::from_i64(&[-1, width])).unwrap();
        let format = Format::strict(vec![dense("x", WIDTH as i64), dense("y", 1)]);
        QueueDataset { source: Source::files([self.0.to_string_lossy()]), format, batch_size, queue: 2 }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

impl Runner {
    /// All steps of one worker.
    fn train(self, exe: &Executor, program: &Program, scope: &Scope, name: &str, worker: usize, workers: usize) {
        let rows = share(worker, workers);
        if self == Runner::Dataset {
            let file = File::new(&format!("{name}-{worker}"), &rows);
            let options = TrainOptions { show: Show::Nothing, ..TrainOptions::threads(1) };
            let set = file.dataset(rows.len());
            let done = train_from_dataset(exe, program, &set, scope, &options, &mut Printer).unwrap();
            assert_eq!(done.batches, STEPS as u64);
            return;
        }
        for step in 0..STEPS {
            let [x, y] = batch(step, rows.clone());
            let feeds = [("x", &x), ("y", &y)];
            if self == Runner::Run {
                exe.run(program, &feeds, &[], scope).unwrap();
            } else {
                exe.run_replicas(program, &Replicas::new(2), Feeds::Split(&feeds), &[], scope).unwrap();
            }
        }
    }
}

fn executor(elastic: bool) -> Executor {
    let mut group = GroupOptions::new(0, Vec::new());
    (group.deadline, group.elastic) = (PATIENCE, elastic);
    let server = ServerOptions { deadline: PATIENCE, ..ServerOptions::default() };
    let client = ClientOptions { deadline: PATIENCE, ..ClientOptions::default() };
    Options { threads: 1, check_nan_inf: false }.executor_in(JobOptions { server, client, group })
}

fn learned(scope: &Scope) -> Learned {
    let params = ["hidden", "out"].into_iter();
    Learned(params.flat_map(|name| scope.tensor(name).expect("a parameter").to_f64()).collect())
}

fn alone(runner: Runner) -> Vec<Learned> {
    let (net, exe, scope) = (network(), executor(false), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).unwrap();
    runner.train(&exe, &net.main, &scope, &format!("{runner:?}-local"), 0, 1);
    vec![learned(&scope)]
}

fn with_servers(runner: Runner, strategy: Strategy) -> Vec<Learned> {
    // Without sync, how two trainers mix depends on the moment.
    let workers = if strategy == Strategy::Sync { 2 } else { 1 };
    let ports = plan(&Ask { server_num: Some(2), worker_num: Some(workers), ..Ask::default() }).unwrap();
    let servers = ports.ranks[0].servers.clone();
    let net = network();
    let process = |role, index| {
        let place = Place { role, index, workers, servers: servers.clone(), worker_endpoints: Vec::new() };
        JobProcess::new(place, &net, strategy, Config { min_block_size: 4, ..Config::fluid() }).unwrap()
    };
    std::thread::scope(|threads| {
        for index in 0..2 {
            let process = process(Role::Server, index);
            threads.spawn(move || {
                let (exe, scope) = (executor(false), Scope::new());
                process.init_server(&exe, &scope, None).unwrap();
                process.run_server(&exe, &scope).unwrap();
            });
        }
        let work = |index: usize| {
            let process = process(Role::Worker, index);
            threads.spawn(move || {
                let (exe, scope) = (executor(false), Scope::new());
                process.init_worker(&exe, &scope).unwrap();
                let name = format!("{runner:?}-{strategy:?}");
                runner.train(&exe, process.program(), &scope, &name, index, workers);
                process.finish_training(&exe, &scope).unwrap();
                process.stop_worker(&exe).unwrap();
                learned(&scope)
            })
        };
        let running: Vec<_> = (0..workers).map(work).collect();
        running.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

fn free_endpoints(count: usize) -> Vec<String> {
    // All are held until all are found, so that none is found twice.
    let held: Vec<_> = (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|l| l.local_addr().unwrap().to_string()).collect()
}

fn transpile(net: &mut Net, rank: usize, endpoints: &[String]) {
    let grad_allreduce = Some(CollectiveMode::GradAllreduce);
    let config = Config { mode: Mode::Collective, collective_mode: grad_allreduce, ..Config::fluid() };
    let arguments = Arguments {
        trainer_id: rank,
        program: &mut net.main,
        startup_program: &mut net.startup,
        pservers: "",
        trainers: Trainers::Endpoints(endpoints.join(",")),
        sync_mode: true,
        current_endpoint: &endpoints[rank],
        slice_var_up: None,
        split_method: None,
        registry: &oarlock::registry(),
    };
    DistributeTranspiler::new(config).transpile(arguments).unwrap();
}

/// Ranks `0..2` train; in an elastic group there is a third one, which is lost after its startup program.
fn with_ranks(runner: Runner, elastic: bool) -> Vec<Learned> {
    let endpoints = free_endpoints(if elastic { 3 } else { 2 });
    std::thread::scope(|threads| {
        let work = |rank: usize| {
            let endpoints = &endpoints;
            threads.spawn(move || {
                let (mut net, exe, scope) = (network(), executor(elastic), Scope::new());
                transpile(&mut net, rank, endpoints);
                exe.run(&net.startup, &[], &[], &scope).unwrap();
                if rank == 2 {
                    exe.job().abandon();
                    return None;
                }
                let name = format!("{runner:?}-ranks-{elastic}");
                runner.train(&exe, &net.main, &scope, &name, rank, 2);
                assert!(exe.close().unwrap(), "there was a group to leave");
                Some(learned(&scope))
            })
        };
        let running: Vec<_> = (0..endpoints.len()).map(work).collect();
        running.into_iter().filter_map(|worker| worker.join().unwrap()).collect()
    })
}

fn train(runner: Runner, place: Setting) -> Vec<Learned> {
    match place {
        Setting::Local => alone(runner),
        Setting::Servers(strategy) => with_servers(runner, strategy),
        Setting::Collective { elastic } => with_ranks(runner, elastic),
    }
}

#[test]
fn every_runner_trains_alike_in_every_mode() {
    let places = [
        Setting::Local,
        Setting::Servers(Strategy::Sync),
        Setting::Servers(Strategy::HalfAsync),
        Setting::Servers(Strategy::Async),
        Setting::Servers(Strategy::Geo),
        Setting::Collective { elastic: false },
        Setting::Collective { elastic: true },
    ];
    let expected = alone(Runner::Run).remove(0);
    for place in places {
        for runner in [Runner::Run, Runner::Dataset, Runner::Replicas] {
            for (worker, learned) in train(runner, place).iter().enumerate() {
                let differ = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-5 * (1.0 + b.abs()) || a.is_nan();
                // A communicator that works beside training may receive parameters a step late.
                let late = matches!(place, Setting::Servers(Strategy::Async | Strategy::Geo));
                let wrong = learned.0.iter().zip(&expected.0).filter(|pair| match late {
                    true => !pair.0.is_finite(),
                    false => differ(*pair),
                });
                let count = wrong.count();
                assert_eq!(count, 0, "{runner:?} x {place:?}, worker {worker}: {learned:?}, not {expected:?}");
            }
        }
    }
}

#[test]
fn several_threads_with_other_ranks_are_one_clear_error() {
    let endpoints = free_endpoints(2);
    std::thread::scope(|threads| {
        for rank in 0..2 {
            let endpoints = &endpoints;
            threads.spawn(move || {
                let (mut net, exe, scope) = (network(), executor(false), Scope::new());
                transpile(&mut net, rank, endpoints);
                exe.run(&net.startup, &[], &[], &scope).unwrap();
                let files = [0, 1].map(|f| File::new(&format!("threads-{rank}-{f}"), &share(rank, 2)));
                let mut set = files[0].dataset(4);
                set.source = Source::files(files.iter().map(|file| file.0.to_string_lossy().into_owned()));
                let options = TrainOptions { show: Show::Nothing, ..TrainOptions::threads(2) };
                let done = train_from_dataset(&exe, &net.main, &set, &scope, &options, &mut Printer);
                assert_eq!(
                    done.unwrap_err().report().what,
                    "a program that exchanges gradients with other ranks trains with one thread, but the data set has 2"
                );
                exe.job().leave().unwrap();
            });
        }
    });
}
