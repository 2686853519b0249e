//! Starts the processes of a job on this host, watches them, and ends them all when one fails or the user wishes.
//!
//! One thread does it all: the system ends the processes when this thread ends (see `oarlock_sys::spawn_bound`).

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::logging::{self, set_status};
use oarlock_sys::{Caught, Signals};
use rustix::process::Signal;
use tracing::{error, info, warn};

use super::cluster::{Cluster, Role, VARIABLES, split};
use super::guard::Guard;
use super::plan::Plan;
use super::process::{Process, exit_code, how};
use super::program::Program;
use super::{host, now, var};

/// How often processes are looked at when no signal says that something happened.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// How often the launcher says what it waits for.
const REMIND: Duration = Duration::from_secs(5);

/// How long a process may take to end after it was asked to, and a server after the last worker is done.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// A job to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What each process runs.
    pub program: Program,
    /// The processes.
    pub plan: Plan,
    /// Where logs go; none are written if not given.
    pub log_dir: Option<PathBuf>,
    /// How often each worker is started again if it fails.
    pub max_restart: u32,
    /// Go on without a worker that failed for good, as long as others work.
    pub elastic: bool,
    /// How long servers may take until they listen; workers are started then. Zero: nobody waits for them.
    pub ready: Duration,
    /// Show a line of progress, if there is a terminal.
    pub progress: bool,
    /// Variables that every process gets besides, by name.
    pub settings: Vec<(String, String)>,
    /// The name of the job, which keeps it apart from others; made up if the job has one host only.
    pub job: Option<String>,
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
    Supervisor::new(launch, Signals::hold().map_err(failed)?).run()
}

/// Where others reach a process. A worker with servers may listen, too, but need not.
pub(super) fn listens_on(rank: &Cluster) -> Option<&String> {
    match rank.role {
        Role::Server(index) => rank.servers.get(index),
        Role::Worker(index) if rank.servers.is_empty() => rank.worker_endpoints.get(index),
        Role::Worker(_) => None,
    }
}

/// A process of the job, running or not.
struct Member<'a> {
    cluster: &'a Cluster,
    process: Option<Process>,
    restarts: u32,
    end: Option<ExitStatus>,
}

impl Member<'_> {
    fn is_server(&self) -> bool {
        matches!(self.cluster.role, Role::Server(_))
    }

    fn is_running(&self) -> bool {
        self.process.is_some() && self.end.is_none()
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
    members: Vec<Member<'a>>,
    start: Instant,
    job: Option<String>,
    /// A file that tells elastic workers that are started again that the others have finished.
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
        let member = |cluster| Member { cluster, process: None, restarts: 0, end: None };
        let made_up = || launch.plan.complete.then(|| format!("launch-{}", std::process::id()));
        Supervisor {
            launch,
            signals,
            guard: Guard::start(),
            members: launch.plan.ranks.iter().map(member).collect(),
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
                // A server that ends too early fails the job even if it says that all is well.
                Ok(self.members[failed[0]].end.filter(|end| !end.success()).map_or(1, exit_code))
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

    fn whole_job(&mut self) -> Step<()> {
        self.start_all(Member::is_server)?;
        self.wait_for_servers()?;
        self.start_all(|member| !member.is_server())?;
        let has_workers = self.members.iter().any(|member| !member.is_server());
        while self.members.iter().any(|member| member.is_running() && !(has_workers && member.is_server())) {
            self.tick()?;
        }
        self.wait_for_the_end_of_servers()
    }

    /// Says what is about to happen.
    fn introduce(&self) {
        let Some(cluster) = self.members.first().map(|member| member.cluster) else { return };
        let here = match self.launch.plan.complete {
            true => String::new(),
            false => format!(", {} of them here", self.members.len()),
        };
        let what = match cluster.servers.len() {
            0 => count(cluster.workers, "worker"),
            servers => {
                let list = cluster.servers.join(", ");
                format!("{} ({list}), {}", count(servers, "server"), count(cluster.workers, "worker"))
            }
        };
        let job = self.job.as_ref().map_or(String::new(), |job| format!("job {job}: "));
        info!("{job}{what}{here}; each runs {}", self.launch.program);
        if let Some(dir) = &self.launch.log_dir {
            info!("logs are in {}", dir.display());
        }
    }

    fn start_all(&mut self, which: impl Fn(&Member<'a>) -> bool) -> Step<()> {
        for index in 0..self.members.len() {
            if which(&self.members[index]) {
                self.start(index)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize) -> Step<()> {
        let member = &self.members[index];
        let command = self.command(member);
        let log = self.log_path(member).map(|path| open_log(&path, member.restarts)).transpose()?;
        let name = member.cluster.role.to_string();
        let process =
            Process::start(command, log, name, self.guard.as_ref()).map_err(|e| self.launch.program.not_started(&e))?;
        let member = &mut self.members[index];
        member.process = Some(process);
        member.end = None;
        Ok(())
    }

    fn command(&self, member: &Member<'_>) -> Command {
        let mut command = self.launch.program.command();
        // What the launcher was told of a job is not what its processes are told.
        VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(variables(self.launch, member.cluster, self.members.len(), self.job.as_deref()));
        command.env("OARLOCK_RESTART", member.restarts.to_string());
        command.envs(self.done.as_ref().map(|file| ("OARLOCK_GROUP_DONE", file)));
        command
    }

    fn log_path(&self, member: &Member<'_>) -> Option<PathBuf> {
        let name = match member.cluster.role {
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
        let mut waiting: Vec<usize> = (0..self.members.len()).filter(|i| self.members[*i].is_server()).collect();
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
            if let Some(index) = waiting.iter().find(|index| !self.members[**index].is_running()) {
                let process = self.members[*index].cluster.role;
                error!(%process, "{process} ended before it listened");
                return Err(Stop::Failed(vec![*index]));
            }
        }
        Ok(())
    }

    fn listens(&self, index: usize) -> bool {
        let cluster = self.members[index].cluster;
        let Some(endpoint) = listens_on(cluster) else { return true };
        let (listens, process) = (answers(endpoint), cluster.role);
        if listens {
            info!(%process, endpoint, "{process} listens on {endpoint}");
        }
        listens
    }

    /// Servers end by themselves when all workers have left them. Those of other systems never do; if no worker is left
    /// anywhere, they are asked to.
    fn wait_for_the_end_of_servers(&mut self) -> Step<()> {
        let deadline = now() + GRACE;
        let stay = var("OARLOCK_STAY").is_some_and(|value| value != "0");
        if stay && self.members.iter().any(Member::is_running) {
            info!("no worker is left, and servers stay (OARLOCK_STAY): Ctrl-C ends them");
        }
        while self.members.iter().any(Member::is_running) {
            if !stay && self.launch.plan.complete && now() >= deadline {
                let left: Vec<usize> = (0..self.members.len()).filter(|i| self.members[*i].is_running()).collect();
                info!("{} did not end with the last worker and is stopped", self.names(&left));
                self.stop(Signal::TERM);
                return Ok(());
            }
            self.tick()?;
        }
        Ok(())
    }

    /// Waits a little, and looks what happened.
    fn tick(&mut self) -> Step<()> {
        self.show_progress();
        if let Some(Caught::End(signal)) = self.signals.wait(TICK) {
            return Err(Stop::Signal(signal));
        }
        let mut failed = Vec::new();
        for index in self.reap() {
            let member = &self.members[index];
            if member.end.is_some_and(|end| end.success()) {
                let process = member.cluster.role;
                info!(%process, "{process} is done");
                if let Some(file) = self.done.as_ref().filter(|_| member.cluster.servers.is_empty()) {
                    // Without it a worker that is started again only waits longer.
                    let _ = File::create(file);
                }
            } else if !self.finished_without(index) && !self.restart(index)? && !self.goes_on_without(index) {
                failed.push(index);
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        // Processes often fail because another did. One that was killed did not; a server seldom is the first.
        failed.sort_by_key(|index| {
            let member = &self.members[*index];
            (member.end.is_some_and(|end| end.code().is_some()), member.is_server())
        });
        Err(Stop::Failed(failed))
    }

    /// Notes which processes have ended since the last look.
    fn reap(&mut self) -> Vec<usize> {
        let mut ended = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.is_running()) {
            let Some(process) = &mut member.process else { continue };
            if let Some(status) = process.ended() {
                member.end = Some(status);
                ended.push(index);
                if let Some(guard) = &mut self.guard {
                    guard.remove(process.group());
                }
            }
        }
        ended
    }

    /// Have the workers that a failed one would have to join finished already? They did its share of the steps without it.
    fn finished_without(&self, index: usize) -> bool {
        let member = &self.members[index];
        let done = |other: &Member<'_>| !other.is_server() && other.end.is_some_and(|end| end.success());
        let finished = self.launch.elastic && member.cluster.servers.is_empty() && self.members.iter().any(done);
        if finished {
            let end = member.end.map_or(String::new(), how);
            let process = member.cluster.role;
            warn!(%process, "{process} {end}; it is not started again: the others have finished without it");
        }
        finished
    }

    /// Starts a worker again that failed, if it may be.
    fn restart(&mut self, index: usize) -> Step<bool> {
        let (most, member) = (self.launch.max_restart, &mut self.members[index]);
        if member.is_server() || member.restarts >= most {
            return Ok(false);
        }
        member.restarts += 1;
        let (process, end) = (member.cluster.role, member.end.map_or(String::new(), how));
        warn!(%process, "{process} {end}; it is started again ({} of {most})", member.restarts);
        self.start(index)?;
        Ok(true)
    }

    /// Do the others go on without a worker that failed for good?
    fn goes_on_without(&self, index: usize) -> bool {
        let member = &self.members[index];
        let others = self.members.iter().any(|other| !other.is_server() && other.is_running());
        let goes_on = self.launch.elastic && !member.is_server() && others;
        if goes_on {
            let (process, end) = (member.cluster.role, member.end.map_or(String::new(), how));
            warn!(%process, "{process} {end}; the others go on without it");
        }
        goes_on
    }

    fn show_progress(&self) {
        if !self.launch.progress {
            return;
        }
        let number = |which: &dyn Fn(&Member<'_>) -> bool| self.members.iter().filter(|member| which(member)).count();
        let servers = count(number(&|member| member.is_server() && member.is_running()), "server");
        let workers = count(number(&|member| !member.is_server() && member.is_running()), "worker");
        let done = number(&|member| !member.is_server() && member.end.is_some());
        let time = self.start.elapsed().as_secs();
        let clock = format!("{}:{:02}", time / 60, time % 60);
        set_status(format!("oarlock: {servers} and {workers} running, {done} done  {clock}"));
    }

    /// Tells which processes failed, and the last lines of the first.
    fn report(&self, failed: &[usize]) {
        for (place, index) in failed.iter().enumerate() {
            let member = &self.members[*index];
            let (Some(process), Some(end)) = (&member.process, member.end) else { continue };
            let time = seconds(process.since.elapsed());
            let log = self.log_path(member).map_or(String::new(), |path| format!("; its log is {}", path.display()));
            let end = if end.success() { "ended with exit code 0".to_string() } else { how(end) };
            let role = member.cluster.role;
            let lines = if place == 0 { last_lines(process) } else { String::new() };
            error!(process = %role, "{role} {end} after {time}{log}{lines}");
        }
    }

    fn late(&self, late: &[usize]) -> Error {
        let first = late.first().map(|index| &self.members[*index]);
        if let Some((process, role)) = first.and_then(|member| Some((member.process.as_ref()?, member.cluster.role))) {
            error!(process = %role, "{role} does not listen{}", last_lines(process));
        }
        let time = seconds(self.launch.ready);
        Error::new(Kind::Timeout, format!("{} did not listen within {time}", self.names(late)))
            .help("look at its log; --ready-timeout sets how long to wait (0: do not wait)")
    }

    /// These processes, with where they are to listen.
    fn names(&self, which: &[usize]) -> String {
        let name = |index: &usize| {
            let cluster = self.members[*index].cluster;
            listens_on(cluster).map_or(cluster.role.to_string(), |endpoint| format!("{} ({endpoint})", cluster.role))
        };
        which.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Asks all processes to end, and kills those that do not. A second request of the user kills at once.
    fn stop(&mut self, signal: Signal) {
        self.signal_all(signal);
        let deadline = now() + GRACE;
        let mut killed = false;
        while self.members.iter().any(Member::is_running) {
            let asked_again = matches!(self.signals.wait(TICK), Some(Caught::End(_)));
            if (asked_again || now() >= deadline) && !killed {
                killed = true;
                self.signal_all(Signal::KILL);
            }
            self.reap();
        }
    }

    fn signal_all(&self, signal: Signal) {
        for process in self.members.iter().filter(|m| m.is_running()).filter_map(|m| m.process.as_ref()) {
            process.signal(signal);
        }
    }
}

/// What a process is told, one of `here` on its host.
pub(super) fn variables(launch: &Launch, cluster: &Cluster, here: usize, job: Option<&str>) -> Vec<(String, String)> {
    let mut told = cluster.emit();
    told.push(("PYTHONUNBUFFERED", "1".to_string()));
    // What the user has set counts.
    let mut unless_set = |name: &'static str, value: String| {
        if var(name).is_none() {
            told.push((name, value));
        }
    };
    if let Some(job) = job {
        unless_set("OARLOCK_JOB_ID", job.to_string());
    }
    if launch.max_restart > 0 {
        unless_set("OARLOCK_ON_LOSS", "wait".to_string());
    }
    if cluster.servers.is_empty() {
        // Equal workers of one host share its cores; each is one replica.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        unless_set("OARLOCK_THREADS", (cores / here.max(1)).max(1).to_string());
        unless_set("CPU_NUM", "1".to_string());
    }
    let told = told.into_iter().map(|(name, value)| (name.to_string(), value));
    told.chain(launch.settings.iter().cloned()).collect()
}

/// Logs of an earlier job are replaced; those of an earlier start of the same process go on.
fn open_log(path: &Path, restarts: u32) -> Result<File> {
    let file = match restarts {
        0 => File::create(path),
        _ => File::options().append(true).open(path),
    };
    file.map_err(|e| Error::new(Kind::Io, format!("the log {} cannot be written: {e}", path.display())))
}

/// Whether somebody listens on a port of this machine.
fn answers(endpoint: &str) -> bool {
    let (host, port) = split(endpoint);
    let (Ok(ips), Ok(port)) = (host::resolve(host), port.parse()) else { return false };
    ips.into_iter().any(|ip| {
        let socket = TcpStream::connect_timeout(&SocketAddr::new(ip, port), TICK);
        // A connection to a port where nobody listens can be given that very port, and reach itself.
        socket.is_ok_and(|socket| socket.local_addr().ok() != socket.peer_addr().ok())
    })
}

/// The last lines that a failed process wrote, to be put below its failure.
fn last_lines(process: &Process) -> String {
    let tail = process.tail();
    let mut text = match tail.as_slice() {
        [] => "\n  it wrote nothing".to_string(),
        lines => format!("\n  its last lines:\n    {}", lines.join("\n    ")),
    };
    if tail.iter().any(|line| line.contains("No module named 'paddle'")) {
        text += "\n  help: start it with `fleetrun` in place of `oarlock launch`: there `import paddle` is Oarlock";
    }
    text
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
