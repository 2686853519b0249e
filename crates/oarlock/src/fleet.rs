//! Fleet: what the words of Fluid's `fleet` mean. Who a process is, by its environment; which settings of the transpiler and
//! which communicator a strategy stands for; which files a worker reads. Front ends pass values through.

mod checkpoint;
mod evict;
mod job_process;
mod plan;
mod remote;
mod worker_group;

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Program, Result, Runtime};
use oarlock_ps::PsState;
use oarlock_ps::client::Client;
use oarlock_ps::communicator::{Communicator, CommunicatorMode, CommunicatorOptions, Merge};
use oarlock_transpile::{Config, DistributeTranspiler};

pub use checkpoint::{JobSaves, finish_checkpoint, newest_checkpoint};
pub use evict::evict;
pub use job_process::JobProcess;
pub use plan::{Exchange, Extra, Plan, Switches, check_started, plan};
pub use remote::{load_with_servers, predict_with_servers};
pub use worker_group::{Fold, WorkerGroup};

use oarlock_launch::{self as launch, Cluster};

/// How workers and servers train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// All workers finish a step together.
    Sync,
    /// No worker waits for another.
    Async,
    /// The threads of a worker finish a step together.
    HalfAsync,
    /// Workers train locally and exchange how far parameters moved.
    Geo,
}

impl Strategy {
    /// By its name: `sync`, `async`, `half_async` or `geo`.
    pub fn parse(name: &str) -> Option<Strategy> {
        [Strategy::Sync, Strategy::Async, Strategy::HalfAsync, Strategy::Geo].into_iter().find(|s| s.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Sync => "sync",
            Strategy::Async => "async",
            Strategy::HalfAsync => "half_async",
            Strategy::Geo => "geo",
        }
    }

    /// The strategy that a transpiler's config means when it is given alone.
    pub fn of(config: &Config) -> Strategy {
        match () {
            () if config.geo_sgd_mode => Strategy::Geo,
            () if config.sync_mode => Strategy::Sync,
            () if config.runtime_split_send_recv && !config.half_async => Strategy::Async,
            () => Strategy::HalfAsync,
        }
    }

    /// The config that makes its programs; what is not about the strategy stays as it is. A communicator splits, sends and
    /// fetches, whatever the strategy.
    pub fn config(self, config: Config) -> Config {
        Config {
            sync_mode: false,
            runtime_split_send_recv: true,
            half_async: matches!(self, Strategy::Sync | Strategy::HalfAsync),
            completely_not_async: self == Strategy::Sync,
            geo_sgd_mode: self == Strategy::Geo,
            ..config
        }
    }

    /// Is there something for its communicator in the programs that `config` makes?
    fn check(self, config: &Config) -> Result<()> {
        let what = |config: &Config| (config.runtime_split_send_recv, config.half_async, config.completely_not_async);
        let meant = self.config(config.clone());
        let is_geo = self == Strategy::Geo;
        if is_geo == config.geo_sgd_mode && (is_geo || what(&meant) == what(config)) {
            return Ok(());
        }
        let flag = |set: bool| if set { "True" } else { "False" };
        let help = if is_geo {
            "set geo_sgd_mode=True in the config before transpile".to_string()
        } else {
            format!(
                "set sync_mode=False, runtime_split_send_recv=True, half_async={}, completely_not_async={} and geo_sgd_mode=False in the \
                 config before transpile",
                flag(meant.half_async),
                flag(meant.completely_not_async)
            )
        };
        let what = format!(
            "the program was transpiled for another exchange than that of a communicator in mode {}",
            self.name()
        );
        Err(Error::new(Kind::Argument, what).help(help))
    }

    fn mode(self, transpiler: &DistributeTranspiler) -> Result<CommunicatorMode> {
        Ok(match self {
            Strategy::Sync => CommunicatorMode::Sync,
            Strategy::Async => CommunicatorMode::Async,
            Strategy::HalfAsync => CommunicatorMode::HalfAsync,
            Strategy::Geo => CommunicatorMode::Geo {
                push_nums: transpiler.config().geo_sgd_need_push_nums,
                vars: transpiler.geo_vars()?,
            },
        })
    }
}

/// The communicator of a worker. `knobs` are by the names of Fluid's `FLAGS_communicator_*`, without that prefix; those that
/// are not given depend on `cpu_num`.
pub fn communicator_options(
    strategy: Strategy,
    transpiler: &DistributeTranspiler,
    knobs: &BTreeMap<String, String>,
    cpu_num: usize,
) -> Result<CommunicatorOptions> {
    strategy.check(transpiler.config())?;
    let cpus = cpu_num.max(1);
    let mut options = CommunicatorOptions {
        mode: strategy.mode(transpiler)?,
        trainer: transpiler.trainer_id()?,
        trainers: transpiler.trainers()?,
        max_merge_var_num: cpus,
        send_queue_size: cpus,
        min_send_grad_num_before_recv: cpus,
        ..CommunicatorOptions::default()
    };
    for (name, value) in knobs {
        set_knob(&mut options, name, value)?;
    }
    if matches!(strategy, Strategy::Sync | Strategy::HalfAsync) {
        (options.max_merge_var_num, options.send_queue_size) = (cpus, cpus);
    }
    Ok(options)
}

fn set_knob(options: &mut CommunicatorOptions, name: &str, value: &str) -> Result<()> {
    match name {
        "max_merge_var_num" => options.max_merge_var_num = count(name, value)?,
        "send_queue_size" => options.send_queue_size = count(name, value)?,
        "independent_recv_thread" => options.independent_recv_thread = flag(name, value)?,
        "min_send_grad_num_before_recv" => options.min_send_grad_num_before_recv = count(name, value)?,
        "send_wait_times" => options.send_wait_times = count(name, value)?,
        "is_sgd_optimizer" => options.merge = if flag(name, value)? { Merge::Sum } else { Merge::Mean },
        // One exchange per server carries all variables: there is nothing to spread over threads.
        "thread_pool_size" => drop(count(name, value)?),
        _ => {
            return Err(Error::new(Kind::Argument, format!("there is no communicator_{name}")).help(
                "known are max_merge_var_num, send_queue_size, independent_recv_thread, min_send_grad_num_before_recv, \
                 send_wait_times, thread_pool_size and is_sgd_optimizer",
            ));
        }
    }
    Ok(())
}

fn count(name: &str, value: &str) -> Result<usize> {
    value.trim().parse().map_err(|_| {
        Error::new(Kind::Argument, format!("communicator_{name} must be a whole number, but it is {value:?}"))
    })
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(Error::new(Kind::Argument, format!("communicator_{name} must be 0 or 1, but it is {value:?}"))),
    }
}

/// Starts the communicator that operators of this runtime find.
pub fn start_communicator(
    runtime: &Runtime,
    program: &Program,
    scope: &Scope,
    options: CommunicatorOptions,
) -> Result<Arc<Communicator>> {
    let communicator = Arc::new(Communicator::new(program, scope, Client::of(runtime), options));
    PsState::of(runtime).set_communicator(Some(communicator.clone()));
    communicator.start()?;
    Ok(communicator)
}

/// Stops the communicator of a runtime, if it has one: what waits is sent first.
pub fn stop_communicator(runtime: &Runtime) -> Result<()> {
    match PsState::of(runtime).set_communicator(None) {
        Some(communicator) => communicator.stop(),
        None => Ok(()),
    }
}

/// The role of a process in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It trains.
    Worker,
    /// It keeps parameters.
    Server,
}

/// Who a process is among the others of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its role.
    pub role: Role,
    /// Its number among those who do the same.
    pub index: usize,
    /// How many workers there are.
    pub workers: usize,
    /// The endpoints of the servers.
    pub servers: Vec<String>,
    /// The endpoints of the workers, if they are known: collective workers need them.
    pub worker_endpoints: Vec<String>,
}

/// Environment variables by name.
pub type Vars = BTreeMap<String, String>;

impl Place {
    /// As the variables of launchers and schedulers say.
    pub fn from_cloud(vars: &Vars) -> Result<Place> {
        let cluster = Cluster::parse(|name| vars.get(name).cloned())?;
        let Some(cluster) = cluster.filter(|cluster| !cluster.servers.is_empty()) else {
            let what = "the environment names no servers: PADDLE_PSERVERS_IP_PORT_LIST is not set";
            return Err(
                Error::new(Kind::Missing, what).help("start the job with `oarlock launch`, which sets all variables")
            );
        };
        Ok(Place::of(cluster))
    }

    fn of(cluster: Cluster) -> Place {
        let (role, index) = match cluster.role {
            launch::Role::Worker(index) => (Role::Worker, index),
            launch::Role::Server(index) => (Role::Server, index),
        };
        let Cluster { workers, servers, worker_endpoints, .. } = cluster;
        Place { role, index, workers, servers, worker_endpoints }
    }

    /// The place according to the variables of launchers and schedulers, as Fleet 2.0 reads them. Without a job, a process trains alone.
    pub fn from_launcher(vars: &Vars, is_collective: bool) -> Result<Place> {
        let Some(cluster) = Cluster::parse(|name| vars.get(name).cloned())? else {
            let (servers, worker_endpoints) = (Vec::new(), Vec::new());
            return Ok(Place { role: Role::Worker, index: 0, workers: 1, servers, worker_endpoints });
        };
        match (is_collective, cluster.servers.is_empty()) {
            (true, false) => {
                let what =
                    format!("is_collective=True, but the environment names servers: {}", cluster.servers.join(", "));
                Err(Error::new(Kind::Argument, what)
                    .help("call fleet.init() without is_collective, or launch the job without --server_num"))
            }
            (false, true) if cluster.workers > 1 => {
                let what = format!("the environment names {} workers and no server", cluster.workers);
                Err(Error::new(Kind::Missing, what).help(
                    "launch with --server_num, or call fleet.init(is_collective=True) for workers without servers",
                ))
            }
            _ => Ok(Place::of(cluster)),
        }
    }

    /// As `mpirun` says: of every two processes the first is a server, the second a worker. All run on this machine.
    pub fn from_mpi(vars: &Vars) -> Result<Place> {
        let Some((rank, size)) = MPI.iter().find_map(|(rank, size)| Some((vars.get(*rank)?, vars.get(*size)?))) else {
            let looked: Vec<&str> = MPI.iter().flat_map(|(rank, size)| [*rank, *size]).collect();
            let what = format!("this process was not started by mpirun: none of {} is set", looked.join(", "));
            return Err(Error::new(Kind::Missing, what)
                .help("start it with `mpirun -np N`, or use PaddleCloudRoleMaker or UserDefinedRoleMaker"));
        };
        let parse = |value: &String| value.trim().parse::<usize>().ok();
        let (Some(rank), Some(size)) = (parse(rank), parse(size)) else {
            return Err(Error::new(Kind::Argument, format!("mpirun says rank {rank:?} of {size:?}")));
        };
        if let Some(here) = vars.get("OMPI_COMM_WORLD_LOCAL_SIZE").filter(|here| parse(here) != Some(size)) {
            let what =
                format!("{here} of {size} processes run on this machine, and no endpoints are known of the others");
            return Err(Error::new(Kind::Unsupported, what)
                .help("set the PADDLE_* variables for every process and use PaddleCloudRoleMaker"));
        }
        if size < 2 || !size.is_multiple_of(2) {
            return Err(Error::new(Kind::Argument, format!("mpirun started {size} processes"))
                .help("start an even number: of every two, one is a server and one a worker"));
        }
        let pairs = size / 2;
        let servers = (0..pairs).map(|i| format!("127.0.0.1:{}", FIRST_MPI_PORT + i)).collect();
        let role = if rank.is_multiple_of(2) { Role::Server } else { Role::Worker };
        Ok(Place { role, index: rank / 2, workers: pairs, servers, worker_endpoints: Vec::new() })
    }

    /// The place for `fleet.init()` without a role maker: from `mpirun`, or from a complete environment of the launcher.
    pub fn found(vars: &Vars) -> Result<Place> {
        let mpi = match Place::from_mpi(vars) {
            Ok(place) => return Ok(place),
            Err(e) if e.kind() != Kind::Missing => return Err(e),
            Err(e) => e,
        };
        Place::from_cloud(vars).map_err(|cloud| mpi.note(format!("and {}", cloud.report().what)))
    }

    /// Are the numbers possible?
    pub fn check(&self) -> Result<()> {
        let bad = |what: String, help: &str| Err(Error::new(Kind::Argument, what).help(help));
        let mut seen = std::collections::BTreeSet::new();
        if self.servers.is_empty() {
            return bad("the job has no servers".into(), "give their endpoints, such as 10.0.0.1:6174");
        }
        if let Some(twice) = self.servers.iter().find(|s| !seen.insert(*s)) {
            return bad(format!("server {twice} is listed twice"), "every server needs an endpoint of its own");
        }
        if self.workers == 0 {
            return bad("the job has no workers".into(), "worker_num (PADDLE_TRAINERS_NUM) must be positive");
        }
        let (what, count) = match self.role {
            Role::Worker => ("worker", self.workers),
            Role::Server => ("server", self.servers.len()),
        };
        if self.index >= count {
            return bad(format!("this is {what} {}, and there are {count}", self.index), "they are counted from 0");
        }
        Ok(())
    }
}

/// The rank of a process among the collective workers of its job, and the endpoints of all: as the variables of launchers and schedulers say.
pub fn collective_rank(vars: &Vars) -> Result<(usize, Vec<String>)> {
    let Some(cluster) = Cluster::parse(|name| vars.get(name).cloned())? else {
        // A script that is run by itself is a job of one.
        return Ok((0, vec![ALONE.to_string()]));
    };
    let launch::Role::Worker(rank) = cluster.role else {
        return Err(Error::new(Kind::Argument, "this process is a server, and collective training has none")
            .help("start it with `oarlock launch --nproc_per_node N`"));
    };
    if !cluster.worker_endpoints.is_empty() {
        return Ok((rank, cluster.worker_endpoints));
    }
    let all_here = vars.get("OMPI_COMM_WORLD_LOCAL_SIZE").is_some_and(|here| *here == cluster.workers.to_string());
    match cluster.workers {
        1 => Ok((0, vec![ALONE.to_string()])),
        workers if all_here => Ok((rank, (0..workers).map(|i| format!("127.0.0.1:{}", FIRST_MPI_PORT + i)).collect())),
        workers => {
            let what = format!("this is worker {rank} of {workers}, and nothing says where the others are");
            Err(Error::new(Kind::Missing, what)
                .help("set PADDLE_TRAINER_ENDPOINTS, or start them with `oarlock launch`"))
        }
    }
}

/// The endpoint of the one worker of a job of one; no process connects to it.
const ALONE: &str = "127.0.0.1:0";

/// The variables by which launchers of MPI give rank and size.
const MPI: [(&str, &str); 3] =
    [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("PMIX_RANK", "PMIX_SIZE")];

/// Servers of an MPI job on one machine listen from here on: above the ports that Linux gives to outgoing connections.
const FIRST_MPI_PORT: usize = 61001;

/// The files of worker `index` of `workers`: neighbours, and the first workers get one more if they cannot be dealt evenly.
pub fn split_files(files: &[String], index: usize, workers: usize) -> Vec<String> {
    let (each, more) = (files.len() / workers.max(1), files.len() % workers.max(1));
    let start = index * each + index.min(more);
    let end = (start + each + usize::from(index < more)).min(files.len());
    files[start.min(files.len())..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    const WORKER: [(&str, &str); 4] = [
        ("PADDLE_PSERVERS_IP_PORT_LIST", "h0:1,h1:2"),
        ("PADDLE_TRAINERS_NUM", "2"),
        ("TRAINING_ROLE", "TRAINER"),
        ("PADDLE_TRAINER_ID", "1"),
    ];

    #[test]
    fn the_environment_says_who_a_process_is() {
        let place = Place::from_cloud(&vars(&WORKER)).unwrap();
        assert_eq!((place.role, place.index, place.workers), (Role::Worker, 1, 2));
        let mut server = vars(&WORKER);
        server.extend(vars(&[("TRAINING_ROLE", "PSERVER"), ("POD_IP", "h1"), ("PADDLE_PORT", "2")]));
        assert_eq!(Place::from_cloud(&server).unwrap().index, 1);
        server.insert("PADDLE_PORT".into(), "3".into());
        assert!(Place::from_cloud(&server).unwrap_err().report().what.contains("h1:3"));
    }

    #[test]
    fn what_is_missing_is_named_with_what_was_found() {
        let error = Place::from_cloud(&vars(&WORKER[..3])).unwrap_err();
        assert!(error.report().what.contains("PADDLE_TRAINER_ID is not set"), "{error}");
        assert!(error.report().notes[0].contains("TRAINING_ROLE=TRAINER"), "{error}");
        let error = Place::found(&Vars::new()).unwrap_err().to_string();
        assert!(error.contains("OMPI_COMM_WORLD_RANK") && error.contains("PADDLE_PSERVERS_IP_PORT_LIST"), "{error}");
    }

    #[test]
    fn collective_workers_know_each_others_endpoints() {
        let launched = vars(&[("PADDLE_TRAINER_ENDPOINTS", "a:1,b:1"), ("PADDLE_TRAINER_ID", "1")]);
        assert_eq!(collective_rank(&launched).unwrap(), (1, vec!["a:1".to_string(), "b:1".to_string()]));
        assert_eq!(collective_rank(&Vars::new()).unwrap().1.len(), 1);
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")];
        assert_eq!(collective_rank(&vars(&mpi)).unwrap().1, ["127.0.0.1:61001", "127.0.0.1:61002"]);
        assert!(collective_rank(&vars(&mpi[..2])).unwrap_err().report().what.contains("where the others are"));
    }

    #[test]
    fn of_every_two_processes_of_mpi_one_serves() {
        let place = |rank: &str| {
            Place::from_mpi(&vars(&[("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", "4")])).unwrap()
        };
        assert_eq!((place("0").role, place("0").index), (Role::Server, 0));
        assert_eq!((place("3").role, place("3").index), (Role::Worker, 1));
        assert_eq!(place("3").servers, ["127.0.0.1:61001", "127.0.0.1:61002"]);
    }

    #[test]
    fn fleet_2_trains_alone_without_a_job() {
        let alone = Place::from_launcher(&Vars::new(), false).unwrap();
        assert_eq!((alone.role, alone.workers, alone.servers.len()), (Role::Worker, 1, 0));
        assert_eq!(Place::from_launcher(&vars(&WORKER), false).unwrap().index, 1);
        let error = Place::from_launcher(&vars(&WORKER), true).unwrap_err().to_string();
        assert!(error.contains("the environment names servers: h0:1, h1:2"), "{error}");
        let equal = vars(&[("PADDLE_TRAINER_ENDPOINTS", "h0:1,h1:2"), ("PADDLE_TRAINER_ID", "1")]);
        let place = Place::from_launcher(&equal, true).unwrap();
        assert_eq!((place.index, place.worker_endpoints.len()), (1, 2));
        let error = Place::from_launcher(&equal, false).unwrap_err().to_string();
        assert!(error.contains("2 workers and no server") && error.contains("is_collective=True"), "{error}");
    }

    #[test]
    fn files_are_dealt_out_completely() {
        let files: Vec<String> = (0..7).map(|i| i.to_string()).collect();
        let all: Vec<Vec<String>> = (0..3).map(|w| split_files(&files, w, 3)).collect();
        assert_eq!(all, [vec!["0", "1", "2"], vec!["3", "4"], vec!["5", "6"]]);
        assert!(split_files(&files[..2], 2, 3).is_empty());
    }

    #[test]
    fn knobs_go_by_their_names() {
        let mut options = CommunicatorOptions::default();
        for (name, value) in
            [("max_merge_var_num", "7"), ("independent_recv_thread", "0"), ("is_sgd_optimizer", "True")]
        {
            set_knob(&mut options, name, value).unwrap();
        }
        assert_eq!((options.max_merge_var_num, options.independent_recv_thread), (7, false));
        assert_eq!(options.merge, Merge::Sum);
        let error = set_knob(&mut options, "send_queue_size", "many").unwrap_err();
        assert_eq!(error.report().what, "communicator_send_queue_size must be a whole number, but it is \"many\"");
        assert!(
            set_knob(&mut options, "max_merge", "7").unwrap_err().report().what.contains("no communicator_max_merge")
        );
    }

    #[test]
    fn a_config_alone_means_a_strategy() {
        let config = Config::fluid();
        assert_eq!(Strategy::of(&config), Strategy::Sync);
        for strategy in [Strategy::Async, Strategy::HalfAsync, Strategy::Geo] {
            assert_eq!(Strategy::of(&strategy.config(Config::fluid())), strategy);
        }
        let sync = Strategy::Sync.config(config);
        assert!(sync.completely_not_async && sync.half_async && !sync.sync_mode);
    }
}
