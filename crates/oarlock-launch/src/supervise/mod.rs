//! Starts the processes of a job on this host, watches them, and ends them all when one fails or the user interrupts.
//!
//! Servers start first; workers start when the servers listen. A failed worker is restarted up to `max_restart` times, a server that a
//! signal ended is restarted with its log ([`server_logs`]); otherwise the first failure ends the job. One thread does it all: the system ends the processes when this thread ends (see `oarlock_sys::spawn_bound`).

mod report;
mod server_logs;
mod variables;

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::logging::{self, set_status};
use oarlock_net::nonce;
use oarlock_sys::{Caught, Signals};
use rustix::process::Signal;
use tracing::{error, info, warn};

use crate::cluster::{Cluster, Role, VARIABLES, split};
use crate::guard::Guard;
use crate::plan::Plan;
use crate::process::{Process, exit_code, how};
use crate::program::Program;
use crate::{host, now, var};
use report::seconds;
pub use server_logs::{ServerLogs, absolute};
pub(crate) use variables::variables;

/// How often processes are checked when no signal arrives.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How often the launcher logs what it waits for.
const REMIND: Duration = Duration::from_secs(5);

/// How long a process may take to end after it was asked to, and a server after the last worker is done.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// A job to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program of each process.
    pub program: Program,
    /// The processes of this host.
    pub plan: Plan,
    /// The directory of log files; none are written if not given.
    pub log_dir: Option<PathBuf>,
    /// How often each worker is restarted if it fails.
    pub max_restart: u32,
    /// Go on without a worker that failed for good, as long as others work.
    pub elastic: bool,
    /// How long servers may take until they listen; workers are started then. Zero: workers start at once.
    pub ready: Duration,
    /// Show a line of progress, if there is a terminal.
    pub progress: bool,
    /// Additional environment variables of every process.
    pub settings: Vec<(String, String)>,
    /// The name of the job; made up if the job has one host only.
    pub job: Option<String>,
    /// The logs of servers.
    pub server_logs: ServerLogs,
}

/// Runs a job, and returns the exit code of the process that failed, 0 if none did, and 128 + n if signal n ended it.
pub fn run(launch: &Launch) -> Result<u8> {
    for rank in &launch.plan.ranks {
        if let Some(endpoint) = listens_on(rank)
            && let Some(error) = host::cannot_listen(endpoint)
        {
            return Err(error.note(format!("{} is to listen there", rank.role)));
        }
    }
    if let Some(dir) = &launch.log_dir {
        let failed = |e| Error::new(Kind::Io, format!("{}, for logs, cannot be made: {e}", dir.display()));
        fs::create_dir_all(dir).map_err(failed)?;
    }
    let failed = |e| Error::new(Kind::Io, format!("signals cannot be held back: {e}"));
    let supervisor = Supervisor::new(launch, Signals::hold().map_err(failed)?);
    launch.server_logs.check(supervisor.job_of_servers().as_deref())?;
    supervisor.run()
}

/// The endpoint on which a process must listen. A worker with servers may listen, too, but need not.
pub(crate) fn listens_on(rank: &Cluster) -> Option<&String> {
    match rank.role {
        Role::Server(index) => rank.servers.get(index),
        Role::Worker(index) if rank.servers.is_empty() => rank.worker_endpoints.get(index),
        Role::Worker(_) => None,
    }
}

/// A process of the job, running or not.
struct JobProcess<'a> {
    cluster: &'a Cluster,
    process: Option<Process>,
    restarts: u32,
    end: Option<ExitStatus>,
    /// When a server was restarted.
    restarted: Vec<Instant>,
    /// When it is to be restarted.
    restart_at: Option<Instant>,
}

impl JobProcess<'_> {
    fn is_server(&self) -> bool {
        matches!(self.cluster.role, Role::Server(_))
    }

    fn is_running(&self) -> bool {
        self.process.is_some() && self.end.is_none()
    }

    /// Does it run, or will it soon?
    fn is_wanted(&self) -> bool {
        self.is_running() || self.restart_at.is_some()
    }
}

/// Why a job ends before all workers are done.
enum Stop {
    /// A signal asked for it.
    Signal(i32),
    /// These processes failed.
    Failed(Vec<usize>),
    /// These servers do not listen in time.
    Late(Vec<usize>),
    /// The launcher could not do its work.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

type Step<T> = std::result::Result<T, Stop>;

struct Supervisor<'a> {
    launch: &'a Launch,
    signals: Signals,
    guard: Option<Guard>,
    processes: Vec<JobProcess<'a>>,
    start: Instant,
    job: Option<String>,
    /// A file that exists once an elastic worker has finished: restarted workers then have no group to join.
    done: Option<PathBuf>,
}

impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        if let Some(file) = &self.done {
            // It is there only if a worker has finished.
            let _ = fs::remove_file(file);
        }
    }
}

impl<'a> Supervisor<'a> {
    fn new(launch: &'a Launch, signals: Signals) -> Supervisor<'a> {
        let process = |cluster| JobProcess {
            cluster,
            process: None,
            restarts: 0,
            end: None,
            restarted: Vec::new(),
            restart_at: None,
        };
        // Numbers of processes repeat, above all in containers; a new job must not find the log of an old one.
        let made_up = || launch.plan.complete.then(|| format!("launch-{}-{}", std::process::id(), &nonce()[..6]));
        Supervisor {
            launch,
            signals,
            guard: Guard::start(),
            processes: launch.plan.ranks.iter().map(process).collect(),
            start: now(),
            job: launch.job.clone().or_else(made_up),
            done: launch
                .elastic
                .then(|| std::env::temp_dir().join(format!("oarlock-launch-{}.done", std::process::id()))),
        }
    }

    fn run(mut self) -> Result<u8> {
        logging::set_process(logging::Process { job: self.job.clone(), role: Some("launcher".into()), rank: None });
        self.introduce();
        let end = self.whole_job();
        set_status(String::new());
        match end {
            Ok(()) => {
                self.launch.server_logs.delete(self.job_of_servers().as_deref());
                info!("the job is done after {}", seconds(self.start.elapsed()));
                Ok(0)
            }
            Err(Stop::Signal(signal)) => {
                warn!(signal, "ended by signal {signal}; stopping all processes");
                self.stop(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                Ok(u8::try_from(128 + signal).unwrap_or(1))
            }
            Err(Stop::Failed(failed)) => {
                self.report(&failed);
                self.stop(Signal::TERM);
                self.launch.server_logs.tell_where(self.job_of_servers().as_deref());
                // A server that ends too early fails the job even with exit code 0.
                Ok(self.processes[failed[0]].end.filter(|end| !end.success()).map_or(1, exit_code))
            }
            Err(Stop::Late(late)) => {
                let error = self.late(&late);
                self.stop(Signal::TERM);
                Err(error)
            }
            Err(Stop::Error(error)) => {
                self.stop(Signal::TERM);
                Err(error)
            }
        }
    }

    /// The name by which servers know their job.
    fn job_of_servers(&self) -> Option<String> {
        var("OARLOCK_JOB_ID").or_else(|| self.job.clone()).or_else(|| var("SYS_JOB_ID"))
    }

    fn whole_job(&mut self) -> Step<()> {
        self.start_all(JobProcess::is_server)?;
        self.wait_for_servers()?;
        self.start_all(|job_process| !job_process.is_server())?;
        let has_workers = self.processes.iter().any(|job_process| !job_process.is_server());
        while self
            .processes
            .iter()
            .any(|job_process| job_process.is_wanted() && !(has_workers && job_process.is_server()))
        {
            self.tick()?;
        }
        self.wait_for_servers_to_end()
    }

    fn start_all(&mut self, which: impl Fn(&JobProcess<'a>) -> bool) -> Step<()> {
        for index in 0..self.processes.len() {
            if which(&self.processes[index]) {
                self.start(index)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize) -> Step<()> {
        let job_process = &self.processes[index];
        let command = self.command(job_process);
        let log = self.log_path(job_process).map(|path| open_log(&path, job_process.restarts)).transpose()?;
        let name = job_process.cluster.role.to_string();
        let process =
            Process::start(command, log, name, self.guard.as_ref()).map_err(|e| self.launch.program.not_started(&e))?;
        let job_process = &mut self.processes[index];
        job_process.process = Some(process);
        job_process.end = None;
        job_process.restart_at = None;
        Ok(())
    }

    fn command(&self, job_process: &JobProcess<'_>) -> Command {
        let mut command = self.launch.program.command();
        // Variables of a job around the launcher do not describe this job.
        VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(variables(self.launch, job_process.cluster, self.processes.len(), self.job.as_deref()));
        command.env("OARLOCK_RESTART", job_process.restarts.to_string());
        command.envs(self.done.as_ref().map(|file| ("OARLOCK_GROUP_DONE", file)));
        command
    }

    fn log_path(&self, job_process: &JobProcess<'_>) -> Option<PathBuf> {
        let name = match job_process.cluster.role {
            Role::Server(index) => format!("serverlog.{index}"),
            Role::Worker(index) => format!("workerlog.{index}"),
        };
        Some(self.launch.log_dir.as_ref()?.join(name))
    }

    /// Waits until each server of this host answers on its port.
    fn wait_for_servers(&mut self) -> Step<()> {
        if self.launch.ready.is_zero() {
            return Ok(());
        }
        let mut waiting: Vec<usize> = (0..self.processes.len()).filter(|i| self.processes[*i].is_server()).collect();
        let deadline = self.start + self.launch.ready;
        let mut remind = now() + REMIND;
        while !waiting.is_empty() {
            waiting.retain(|index| !self.listens(*index));
            if waiting.is_empty() {
                break;
            }
            if now() >= deadline {
                return Err(Stop::Late(waiting));
            }
            if now() >= remind {
                remind += REMIND;
                let limit = self.launch.ready.as_secs();
                info!("waiting for {} to listen (until {limit} s)", self.names(&waiting));
            }
            self.tick()?;
            if let Some(index) = waiting.iter().find(|index| !self.processes[**index].is_wanted()) {
                let process = self.processes[*index].cluster.role;
                error!(%process, "{process} ended before it listened");
                return Err(Stop::Failed(vec![*index]));
            }
        }
        Ok(())
    }

    fn listens(&self, index: usize) -> bool {
        let cluster = self.processes[index].cluster;
        let Some(endpoint) = listens_on(cluster) else { return true };
        let (listens, process) = (answers(endpoint), cluster.role);
        if listens {
            info!(%process, endpoint, "{process} listens on {endpoint}");
        }
        listens
    }

    /// Servers end by themselves when all workers have left them. Those of other systems never do; if no worker is left on any host,
    /// they get a signal.
    fn wait_for_servers_to_end(&mut self) -> Step<()> {
        let deadline = now() + GRACE;
        let stay = var("OARLOCK_STAY").is_some_and(|value| value != "0");
        if stay && self.processes.iter().any(JobProcess::is_running) {
            info!("no worker is left, and servers stay (OARLOCK_STAY): Ctrl-C ends them");
        }
        while self.processes.iter().any(JobProcess::is_wanted) {
            if !stay && self.launch.plan.complete && now() >= deadline {
                let left: Vec<usize> = (0..self.processes.len()).filter(|i| self.processes[*i].is_running()).collect();
                info!("{} did not end with the last worker and is stopped", self.names(&left));
                self.stop(Signal::TERM);
                return Ok(());
            }
            self.tick()?;
        }
        Ok(())
    }

    /// Waits for a signal or a tick, and handles processes that ended.
    fn tick(&mut self) -> Step<()> {
        self.show_progress();
        if let Some(Caught::End(signal)) = self.signals.wait(TICK) {
            return Err(Stop::Signal(signal));
        }
        let mut failed = Vec::new();
        self.restart_servers()?;
        for index in self.reap() {
            let job_process = &self.processes[index];
            if job_process.end.is_some_and(|end| end.success()) {
                let process = job_process.cluster.role;
                info!(%process, "{process} is done");
                if let Some(file) = self.done.as_ref().filter(|_| job_process.cluster.servers.is_empty()) {
                    // Without it a worker that is started again only waits longer.
                    let _ = File::create(file);
                }
            } else if !self.finished_without(index)
                && !self.restart(index)?
                && !self.plan_restart_of_server(index)
                && !self.goes_on_without(index)
            {
                failed.push(index);
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        // Processes often fail because another did. One that was killed did not; a server seldom is the first.
        failed.sort_by_key(|index| {
            let job_process = &self.processes[*index];
            (job_process.end.is_some_and(|end| end.code().is_some()), job_process.is_server())
        });
        Err(Stop::Failed(failed))
    }

    /// Returns the processes that ended since the last call.
    fn reap(&mut self) -> Vec<usize> {
        let mut ended = Vec::new();
        for (index, job_process) in
            self.processes.iter_mut().enumerate().filter(|(_, job_process)| job_process.is_running())
        {
            let Some(process) = &mut job_process.process else { continue };
            if let Some(status) = process.ended() {
                job_process.end = Some(status);
                ended.push(index);
                if let Some(guard) = &mut self.guard {
                    guard.remove(process.group());
                }
            }
        }
        ended
    }

    /// Have other elastic workers finished already? They made all steps without the failed one.
    fn finished_without(&self, index: usize) -> bool {
        let job_process = &self.processes[index];
        let done = |other: &JobProcess<'_>| !other.is_server() && other.end.is_some_and(|end| end.success());
        let finished = self.launch.elastic && job_process.cluster.servers.is_empty() && self.processes.iter().any(done);
        if finished {
            let end = job_process.end.map_or(String::new(), how);
            let process = job_process.cluster.role;
            warn!(%process, "{process} {end}; it is not started again: the others have finished without it");
        }
        finished
    }

    /// Restarts a failed worker, if it may be.
    fn restart(&mut self, index: usize) -> Step<bool> {
        let (most, job_process) = (self.launch.max_restart, &mut self.processes[index]);
        if job_process.is_server() || job_process.restarts >= most {
            return Ok(false);
        }
        job_process.restarts += 1;
        let (process, end) = (job_process.cluster.role, job_process.end.map_or(String::new(), how));
        warn!(%process, "{process} {end}; it is started again ({} of {most})", job_process.restarts);
        self.start(index)?;
        Ok(true)
    }

    /// Plans to restart a server that a signal ended and that has a log. One that ended by itself has said why, and would say it again.
    fn plan_restart_of_server(&mut self, index: usize) -> bool {
        let (job, logs, time) = (self.job_of_servers(), &self.launch.server_logs, now());
        let job_process = &mut self.processes[index];
        let Role::Server(number) = job_process.cluster.role else { return false };
        let Some(end) = job_process.end.filter(|end| end.code().is_none()) else { return false };
        if !logs.has(job.as_deref(), number) {
            return false;
        }
        let Some(wait) = logs.wait_before_restart(&job_process.restarted, time) else {
            warn!(
                "server {number} {}; it was restarted {} times in an hour, and is not again",
                how(end),
                logs.max_restart
            );
            return false;
        };
        let delay = if wait.is_zero() { String::new() } else { format!(" in {} s", wait.as_secs()) };
        warn!("server {number} {}; it is restarted with its log{delay}", how(end));
        job_process.restarts += 1;
        job_process.restarted.push(time);
        job_process.restart_at = Some(time + wait);
        true
    }

    /// Restarts the servers whose time has come.
    fn restart_servers(&mut self) -> Step<()> {
        let time = now();
        for index in 0..self.processes.len() {
            if self.processes[index].restart_at.is_some_and(|at| at <= time) {
                self.start(index)?;
            }
        }
        Ok(())
    }

    /// Do the others go on without a worker that is not restarted?
    fn goes_on_without(&self, index: usize) -> bool {
        let job_process = &self.processes[index];
        let others = self.processes.iter().any(|other| !other.is_server() && other.is_running());
        let goes_on = self.launch.elastic && !job_process.is_server() && others;
        if goes_on {
            let (process, end) = (job_process.cluster.role, job_process.end.map_or(String::new(), how));
            warn!(%process, "{process} {end}; the others go on without it");
        }
        goes_on
    }

    /// Sends a signal to all processes, and kills those that do not end. A second interrupt kills at once.
    fn stop(&mut self, signal: Signal) {
        self.processes.iter_mut().for_each(|job_process| job_process.restart_at = None);
        self.signal_all(signal);
        let deadline = now() + GRACE;
        let mut killed = false;
        while self.processes.iter().any(JobProcess::is_running) {
            let asked_again = matches!(self.signals.wait(TICK), Some(Caught::End(_)));
            if (asked_again || now() >= deadline) && !killed {
                killed = true;
                self.signal_all(Signal::KILL);
            }
            self.reap();
        }
    }

    fn signal_all(&self, signal: Signal) {
        for process in self.processes.iter().filter(|m| m.is_running()).filter_map(|m| m.process.as_ref()) {
            process.signal(signal);
        }
    }
}

/// Logs of an earlier job are replaced; those of an earlier start of the same process go on.
fn open_log(path: &Path, restarts: u32) -> Result<File> {
    let file = match restarts {
        0 => File::create(path),
        _ => File::options().append(true).open(path),
    };
    file.map_err(|e| Error::new(Kind::Io, format!("the log {} cannot be written: {e}", path.display())))
}

/// Whether a process listens on a port of this machine.
fn answers(endpoint: &str) -> bool {
    let (host, port) = split(endpoint);
    let (Ok(ips), Ok(port)) = (host::resolve(host), port.parse()) else { return false };
    ips.into_iter().any(|ip| {
        let socket = TcpStream::connect_timeout(&SocketAddr::new(ip, port), TICK);
        // A connection to a port without a listener can be given that very port, and reach itself.
        socket.is_ok_and(|socket| socket.local_addr().ok() != socket.peer_addr().ok())
    })
}
