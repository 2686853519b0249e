//! `oarlock launch` and `oarlock doctor`: start the processes of a job, or see whether it could be started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use oarlock::collective::Backend as Carrier;
use oarlock::launch::{self, Ask, Plan, Program, Rendezvous};
use oarlock::net::{fingerprint, logging};
use oarlock::{Error, Kind, Result};
use tracing::info;

/// The level of the notes that say what is being done, as Python counts levels.
const INFO: u32 = 20;

/// Flags of other launchers that are refused, and why.
const REFUSED: [(&str, &str); 9] = [
    ("heter-workers", "Oarlock has no heterogeneous workers: list all workers with --workers"),
    ("heter-worker-num", "Oarlock has no heterogeneous workers: count all workers with --worker-num"),
    ("heter-devices", "Oarlock has no heterogeneous workers"),
    ("http-port", "nothing is exchanged over HTTP: leave it out"),
    ("gloo-port", "there is no Gloo: leave it out"),
    ("with-gloo", "there is no Gloo: leave it out"),
    ("elastic-level", "give --elastic: those who are left go on, and a failed worker is started again"),
    ("elastic-timeout", "give --elastic: those who are left go on at once"),
    ("elastic-server", "give --elastic: workers find each other without etcd"),
];

/// The processes of a job.
#[derive(Args)]
struct Job {
    /// How many parameter servers; on this machine, unless --servers says where.
    #[arg(long, alias = "server_num", value_name = "N")]
    server_num: Option<usize>,
    /// How many workers (trainers).
    #[arg(long, aliases = ["worker_num", "trainer-num", "trainer_num"], value_name = "N")]
    worker_num: Option<usize>,
    /// The servers of the job on all hosts, `host:port` or `host`. Those of this host are started.
    #[arg(long, alias = "endpoints", value_delimiter = ',', value_name = "LIST")]
    servers: Vec<String>,
    /// The workers of the job on all hosts, `host` or `host:port`. Those of this host are started.
    #[arg(long, alias = "trainers", value_delimiter = ',', value_name = "LIST")]
    workers: Vec<String>,
    /// How many collective workers on each host, without servers.
    #[arg(long, alias = "nproc_per_node", value_name = "N")]
    nproc_per_node: Option<usize>,
    /// The hosts of collective workers.
    #[arg(long, aliases = ["cluster-node-ips", "cluster_node_ips"], value_delimiter = ',', value_name = "LIST")]
    ips: Vec<String>,
    /// One collective worker for each device listed. Oarlock computes on CPUs: only their number counts.
    #[arg(long, aliases = ["selected-gpus", "selected_gpus", "devices"], value_delimiter = ',', value_name = "LIST")]
    gpus: Vec<String>,
    /// The network device that collective workers use; NCCL_SOCKET_IFNAME says the same.
    #[arg(long, value_name = "DEVICE")]
    iface: Option<String>,
    /// Which of the hosts this is, as it is written in the lists. Found out from the addresses of this machine if left out.
    #[arg(long, aliases = ["node_ip", "host"], value_name = "HOST")]
    node_ip: Option<String>,
    /// The first port to use. Free ports on one host, 6170 (6070 for collective workers) on several, if left out.
    #[arg(long, aliases = ["start_port", "started-port", "started_port"], value_name = "PORT")]
    start_port: Option<u16>,
    /// `host:port` on one host: the rendezvous at which the launchers of all hosts agree who runs what. Each says with --server-num and
    /// --worker-num, or --nproc-per-node, what it runs.
    #[arg(long, requires = "nnodes", value_name = "ENDPOINT")]
    master: Option<String>,
    /// How many hosts take part in the rendezvous.
    #[arg(long, requires = "master", value_name = "N")]
    nnodes: Option<usize>,
    /// The place of this host among those of the rendezvous; the order of their arrival if left out.
    #[arg(long, requires = "master", value_name = "N")]
    rank: Option<usize>,
    /// The name of the job; processes of jobs with other names are refused.
    #[arg(long, alias = "job_id", value_name = "NAME")]
    job_id: Option<String>,
    /// Parameter servers or collective workers; follows from the other options if left out.
    #[arg(long, alias = "run_mode", value_name = "MODE")]
    run_mode: Option<RunMode>,
    /// Take the hosts of collective workers from the variables that PaddleCloud sets.
    #[arg(long, alias = "use_paddlecloud")]
    use_paddlecloud: bool,
    /// The interpreter of Python scripts.
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunMode {
    /// Parameter servers and workers.
    Ps,
    /// Collective workers.
    Collective,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// Shared memory on one host, TCP between hosts.
    Auto,
    /// TCP, also on one host.
    Tcp,
    /// An installed MPI, whose mpirun starts the workers; on several hosts it is called on one of them.
    Mpi,
    /// NCCL; needs a build for GPUs.
    Nccl,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Durability {
    /// The page cache has it.
    Process,
    /// The disk has it.
    Power,
}

#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct Launch {
    #[command(flatten)]
    job: Job,
    /// Where to write `serverlog.N` and `workerlog.N`; empty for no logs. If left out: `mylog` for collective workers, otherwise `log`.
    #[arg(long, alias = "log_dir", value_name = "DIR")]
    log_dir: Option<PathBuf>,
    /// The transport of the values that collective workers exchange.
    #[arg(long, default_value = "auto", value_name = "BACKEND")]
    backend: Backend,
    /// How often each worker is started again if it fails; 0 if left out, 3 with --elastic. More than 0 makes servers wait for it.
    #[arg(long, aliases = ["max_restart", "max-restarts", "max_restarts"], value_name = "N")]
    max_restart: Option<u32>,
    /// Where servers keep their logs, with which they are restarted when a signal ended them. If left out: OARLOCK_SERVER_LOG, or
    /// `server-state` in the directory of --log-dir. A job that is done deletes its logs.
    #[arg(long, alias = "server_log", value_name = "DIR", conflicts_with = "no_server_log")]
    server_log: Option<PathBuf>,
    /// Servers keep no logs: one that ends fails the job, and updates since the last checkpoint are lost.
    #[arg(long, alias = "no_server_log")]
    no_server_log: bool,
    /// What an acknowledged update survives: the end of its server by any signal (process), or a loss of power, too (power).
    #[arg(long, value_name = "LEVEL")]
    durability: Option<Durability>,
    /// How often each server is restarted with its log in an hour.
    #[arg(long, alias = "max_server_restart", default_value_t = 3, value_name = "N")]
    max_server_restart: u32,
    /// Go on with the job that --job-id names, whose launcher was killed: its servers have their logs.
    #[arg(long, requires = "job_id", conflicts_with = "no_server_log")]
    resume: bool,
    /// Collective workers go on when one of them dies, from the last step; one that is started again gets the state of the others.
    #[arg(long)]
    elastic: bool,
    /// Seconds until a server must listen; workers are started then. 0 starts them at once.
    #[arg(long, alias = "ready_timeout", default_value_t = 180, value_name = "SECONDS")]
    ready_timeout: u64,
    /// Whether to say what is started and what became of it.
    #[arg(long, alias = "print_config", default_value = "true", value_parser = truth, value_name = "BOOL")]
    print_config: bool,
    /// Above 20, only failures are reported.
    #[arg(long, alias = "log_level", default_value_t = INFO, value_name = "LEVEL")]
    log_level: u32,
    /// A Python script or a program, and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct Doctor {
    #[command(flatten)]
    job: Job,
    /// The training program, as `Program.serialize_to_string` or `save_inference_model` writes it: tells how much memory its
    /// parameters take on each server.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Where hosts are listed: wait this number of seconds for `oarlock doctor` of all of them, and compare versions and programs.
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
}

impl Job {
    /// The processes of this host; `program` is what they run, if it is known, so that other hosts can compare.
    fn plan(&self, program: Option<&Path>) -> Result<Plan> {
        let mut ask = self.ask()?;
        if let Some(rendezvous) = self.rendezvous(&mut ask)? {
            let bytes = program.and_then(|path| std::fs::read(path).ok());
            let rendezvous =
                Rendezvous { program: bytes.map_or(String::new(), |bytes| fingerprint(&bytes)), ..rendezvous };
            let ask = self.with_mode(ask);
            return launch::plan(&launch::gather_nodes(ask, &rendezvous)?);
        }
        let ask = self.with_mode(ask);
        if ask == (Ask { node: ask.node.clone(), first_port: ask.first_port, ..Ask::default() })
            && let Some(plan) = Plan::from_env()?
        {
            return Ok(plan);
        }
        launch::plan(&ask)
    }

    fn ask(&self) -> Result<Ask> {
        let devices = (!self.gpus.is_empty()).then_some(self.gpus.len());
        if let (Some(devices), Some(number)) = (devices, self.nproc_per_node)
            && devices != number
        {
            let what = format!("--nproc-per-node is {number}, but --gpus lists {devices}");
            return Err(Error::new(Kind::Argument, what).help("give one of them"));
        }
        let mut ask = Ask {
            servers: self.servers.clone(),
            workers: self.workers.clone(),
            server_num: self.server_num,
            worker_num: self.worker_num,
            per_node: self.nproc_per_node.or(devices),
            hosts: self.ips.clone(),
            node: self.node_ip.clone(),
            first_port: self.start_port,
        };
        if self.use_paddlecloud {
            ask = launch::paddlecloud(ask)?;
        }
        if let Some(device) = self.device() {
            let address = launch::device_address(&device)?.to_string();
            if ask.hosts.is_empty() && ask.per_node.is_some() {
                ask.hosts = vec![address];
            } else if ask.node.is_none() && ask.hosts.contains(&address) {
                ask.node = Some(address);
            }
        }
        Ok(ask)
    }

    /// The network device to use, if one is named.
    fn device(&self) -> Option<String> {
        self.iface
            .clone()
            .or_else(|| launch::var("NCCL_SOCKET_IFNAME"))
            .map(|name| name.trim_start_matches('=').to_string())
    }

    /// The rendezvous with the launchers of other hosts, if they find each other by one.
    fn rendezvous(&self, ask: &mut Ask) -> Result<Option<Rendezvous>> {
        let listed = !ask.servers.is_empty() || !ask.workers.is_empty() || !ask.hosts.is_empty();
        let job = self.job_id.clone();
        let rendezvous = match (&self.master, self.nnodes) {
            (Some(master), Some(nodes)) => {
                let (master, job) = (master.clone(), job.clone().unwrap_or_default());
                Some(Rendezvous { master, nodes, rank: self.rank, job, ..Rendezvous::default() })
            }
            _ if listed => None,
            _ => launch::node_from_env(ask)?
                .map(|rendezvous| Rendezvous { job: job.unwrap_or(rendezvous.job.clone()), ..rendezvous }),
        };
        if listed && rendezvous.is_some() {
            return Err(Error::new(Kind::Argument, "hosts with a rendezvous need no lists of hosts")
                .help("leave --master out, or else --servers, --workers and --ips"));
        }
        Ok(rendezvous)
    }

    /// With what the mode stands for where nothing else says how many processes there are.
    fn with_mode(&self, mut ask: Ask) -> Ask {
        let no_numbers = ask.server_num.is_none() && ask.worker_num.is_none();
        match self.run_mode {
            Some(RunMode::Ps) if no_numbers && ask.servers.is_empty() => ask.server_num = Some(1),
            Some(RunMode::Collective) => ask.per_node = ask.per_node.or(Some(1)),
            _ => {}
        }
        ask
    }
}

impl Launch {
    /// Runs the job; returns its exit code.
    pub(crate) fn run(self) -> Result<u8> {
        let settings = self.settings()?;
        let server_logs = self.server_logs();
        let mut words = self.program.into_iter();
        // Clap asks for at least one.
        let name = words.next().unwrap_or_default();
        let file = PathBuf::from(&name);
        let program = Program::find(name, words.collect(), &self.job.python)?;
        let notes = self.print_config && self.log_level <= INFO;
        if !notes {
            logging::warnings_only();
        }
        if !self.job.gpus.is_empty() {
            let count = self.job.gpus.len();
            info!("--gpus lists {count}: this build computes on CPUs, and starts {count} CPU workers");
        }
        let plan = self.job.plan(Some(&file))?;
        let equal = plan.ranks.iter().all(|rank| rank.servers.is_empty());
        let log_dir = self.log_dir.unwrap_or_else(|| PathBuf::from(if equal { "mylog" } else { "log" }));
        let mpirun = self.backend == Backend::Mpi && launch::inside_mpirun().is_empty();
        if self.backend == Backend::Mpi && !mpirun && plan.ranks.len() != 1 {
            let what = format!("mpirun has started this launcher, which is to start {} workers", plan.ranks.len());
            return Err(Error::new(Kind::Argument, what).help(
                "leave out mpirun: `oarlock launch --backend mpi` calls it; or leave out the numbers of processes",
            ));
        }
        let job = launch::Launch {
            program,
            plan,
            log_dir: (!log_dir.as_os_str().is_empty()).then_some(log_dir),
            settings,
            max_restart: self.max_restart.unwrap_or(if self.elastic { 3 } else { 0 }),
            elastic: self.elastic,
            ready: Duration::from_secs(self.ready_timeout),
            progress: notes,
            job: self.job.job_id,
            server_logs,
        };
        if mpirun { launch::run_mpi(&job) } else { launch::run(&job) }
    }

    /// How servers keep logs.
    fn server_logs(&self) -> launch::ServerLogs {
        let beside_logs = || match &self.log_dir {
            Some(dir) => (!dir.as_os_str().is_empty()).then(|| dir.join("server-state")),
            None => Some(PathBuf::from("log/server-state")),
        };
        let dir = self.server_log.clone().or_else(|| launch::var("OARLOCK_SERVER_LOG").map(PathBuf::from));
        launch::ServerLogs {
            dir: dir.or_else(beside_logs).filter(|_| !self.no_server_log).map(|dir| launch::absolute(&dir)),
            max_restart: self.max_server_restart,
            resume: self.resume,
            durability: self.durability.and_then(|level| Some(level.to_possible_value()?.get_name().to_string())),
        }
    }

    /// The variables that say how processes exchange values.
    fn settings(&self) -> Result<Vec<(String, String)>> {
        let mut settings = Vec::new();
        if let Some(name) = self.backend.to_possible_value().filter(|_| self.backend != Backend::Auto) {
            // One that this build does not have is refused here, not in every process.
            Carrier::parse(name.get_name())?;
            settings.push(("OARLOCK_BACKEND".to_string(), name.get_name().to_string()));
        }
        if self.backend == Backend::Mpi {
            settings.extend(launch::inside_mpirun());
        }
        if self.elastic {
            settings.push(("OARLOCK_ELASTIC".to_string(), "1".to_string()));
        }
        if let Some(device) = self.job.device() {
            settings.push(("OARLOCK_NET_DEVICE".to_string(), device));
        }
        Ok(settings)
    }
}

impl Doctor {
    /// Checks the job; returns what to print, and whether it can work.
    pub(crate) fn run(self) -> Result<(String, bool)> {
        let plan = self.job.plan(self.program.as_deref())?;
        let memory = match &self.program {
            Some(file) => launch::server_bytes(&plan, file, &oarlock::registry())?,
            None => Vec::new(),
        };
        // Launchers with --master have met already.
        let compared = if self.job.master.is_some() { None } else { self.compare(&plan) };
        let mut findings = launch::check(&plan, &memory, &self.job.python);
        findings.extend(compared);
        let text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
        Ok((text, !findings.iter().any(launch::Finding::is_bad)))
    }
}

impl Doctor {
    fn compare(&self, plan: &Plan) -> Option<launch::Finding> {
        let bytes = self.program.as_ref().and_then(|file| std::fs::read(file).ok());
        let program = bytes.map_or(String::new(), |bytes| fingerprint(&bytes));
        launch::compare_hosts(plan, &program, self.wait.map(Duration::from_secs))
    }
}

/// Why a flag that is not known is not, if another launcher has it.
pub(crate) fn refused(flag: &str) -> Option<&'static str> {
    let name = flag.trim_start_matches('-').replace('_', "-");
    REFUSED.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
}

/// True or false as Python's scripts write it.
fn truth(text: &str) -> std::result::Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" | "" => Ok(false),
        _ => Err("write true or false".to_string()),
    }
}
