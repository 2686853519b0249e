//! Clusters in one process: servers and trainers in threads, over real sockets. This file has the helpers of their tests.

mod geo;
mod idle;
mod losses;
mod lost_servers;
mod restarts;
mod sync;
mod tables;
mod uneven;
mod without_sync;

use std::sync::Arc;
use std::time::Duration;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Result, Runtime};
use oarlock_ps::PsState;
use oarlock_ps::client::{Client, ClientOptions};
use oarlock_ps::communicator::{Communicator, CommunicatorOptions};
use oarlock_ps::saving::fetch_whole;
use oarlock_ps::server::{Policy, Server, ServerOptions, Summary};
use oarlock_tensor::{DType, Dims, Tensor};
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers, VarLocations};

use crate::programs::{local, noise, rows_of};

/// The programs that a cluster trains, and how.
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
            registry: &oarlock_ir::Registry::new(oarlock_ops::ops(), []),
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
        self.endpoints().map(|endpoint| self.serve_at(endpoint, options)).collect()
    }

    /// One of the servers.
    pub(crate) fn serve_at(&self, endpoint: &str, options: &ServerOptions) -> (Server, Scope) {
        let (program, startup) = self.transpiled(0).0.get_pserver_programs(endpoint).unwrap();
        let (executor, scope) = (checking_executor(self.checks), Scope::new());
        executor.run(&startup, &[], &[], &scope).unwrap();
        let server = Server::start(&program, &scope, executor.options(), executor.runtime(), options.clone());
        (server.unwrap(), scope)
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
        PsState::of(executor.runtime()).set_client(Some(Arc::new(Client::new(options))));
        executor.run(&startup, &[], &[], &scope)?;
        Ok(Trainer { executor, scope, program })
    }

    /// A parameter as the servers hold it.
    pub(crate) fn joined(&self, servers: &[Scope], param: &str) -> Tensor {
        let (transpiler, _) = self.transpiled(0);
        crate::programs::joined(&transpiler, servers, param)
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
        PsState::of(self.executor.runtime()).before_step(&self.executor, &self.program, &self.scope)?;
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
        PsState::of(runtime).set_communicator(Some(communicator.clone()));
        communicator.start().unwrap();
        communicator
    }

    pub(crate) fn leave(&self) {
        self.client().leave().unwrap();
    }

    /// Ends without a word, as a process does that is killed.
    fn die(self) {
        self.client().abandon();
    }
}

fn executor() -> Executor {
    checking_executor(false)
}

fn checking_executor(check_nan_inf: bool) -> Executor {
    let options = ExecOptions {
        registry: Arc::new(crate::registry()),
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
    ServerOptions { deadline: Duration::from_secs(30), ..ServerOptions::default() }
}

fn with_policy(policy: Policy) -> ServerOptions {
    ServerOptions { policy, ..quiet() }
}

pub(crate) fn trainer_options() -> ClientOptions {
    ClientOptions { deadline: Duration::from_secs(30), ..ClientOptions::default() }
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

pub(crate) fn half_async() -> Config {
    Config { sync_mode: false, half_async: true, runtime_split_send_recv: true, ..small(64) }
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

/// The ids that have a row in table `tab`, ascending.
fn ids_kept(job: &Job, trainer: &Trainer) -> Vec<i64> {
    let kept = job.transpiled(0).0.var_locations().unwrap();
    let table: Vec<&VarLocations> = kept.iter().filter(|k| *k.var.name == *"tab").collect();
    let whole = fetch_whole(&table, &trainer.client(), 0, &trainer.scope).unwrap();
    let value = whole.find("tab").expect("a table");
    let mut ids = value.read().rows().unwrap().rows.clone();
    ids.sort_unstable();
    ids
}

/// The rows of table `tab`, by ascending ids.
fn rows_kept(job: &Job, trainer: &Trainer) -> Vec<(i64, Vec<f32>)> {
    let kept = job.transpiled(0).0.var_locations().unwrap();
    let table: Vec<&VarLocations> = kept.iter().filter(|k| *k.var.name == *"tab").collect();
    let whole = fetch_whole(&table, &trainer.client(), 0, &trainer.scope).unwrap();
    let value = whole.find("tab").expect("a table");
    let value = value.read();
    let rows = value.rows().unwrap();
    let width = rows.value.dims().matrix(1).1;
    let elements = rows.value.data::<f32>().unwrap().chunks(width);
    let mut rows: Vec<(i64, Vec<f32>)> = rows.rows.iter().copied().zip(elements.map(<[f32]>::to_vec)).collect();
    rows.sort_by_key(|(id, _)| *id);
    rows
}
