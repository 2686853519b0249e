//! Jobs whose workers exchange values over MPI: `mpirun` starts them, here and on other hosts, and ends them all when one fails.
//!
//! The variables of a worker stand in front of its program (`env NAME=VALUE ... program`), which works with any MPI.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::{Caught, Signals};
use rustix::process::{Signal, getuid};
use tracing::{error, info};

use super::cluster::{Cluster, Role, VARIABLES, split};
use super::guard::Guard;
use super::process::{Process, exit_code, how};
use super::supervise::{GRACE, Launch, TICK, variables};
use super::{now, var};

/// The variables in which MPI gives a process its rank.
const PROCESS: [&str; 5] = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"];

/// The variables that a process started by `mpirun` must pass on to the worker that it starts in its place; empty if it was started
/// otherwise.
pub fn inside_mpirun() -> Vec<(String, String)> {
    PROCESS.into_iter().filter_map(|name| Some((name.to_string(), var(name)?))).collect()
}

/// Runs a job of collective workers as one `mpirun`. Returns its exit code, or 128 + n if signal n ended it.
pub fn run_mpi(launch: &Launch) -> Result<u8> {
    check(launch)?;
    let command = command(launch, is_open_mpi()?);
    let log = launch.log_dir.as_ref().map(|dir| {
        let failed = |e| Error::new(Kind::Io, format!("the log of mpirun cannot be written in {}: {e}", dir.display()));
        fs::create_dir_all(dir).and_then(|()| File::create(dir.join("mpirunlog"))).map_err(failed)
    });
    let failed = |e| Error::new(Kind::Io, format!("signals cannot be held back: {e}"));
    let signals = Signals::hold().map_err(failed)?;
    info!("mpirun starts {} workers; each runs {}", launch.plan.ranks[0].workers, launch.program);
    let guard = Guard::start();
    let process = Process::start(command, log.transpose()?, "mpirun".to_string(), guard.as_ref());
    let process = process.map_err(|e| Error::new(Kind::Io, format!("mpirun cannot be started: {e}")))?;
    Ok(watch(process, guard, &signals))
}

/// Waits for the end; passes on signals.
fn watch(mut process: Process, mut guard: Option<Guard>, signals: &Signals) -> u8 {
    let (mut asked, mut limit) = (None, None);
    loop {
        if let Some(Caught::End(signal)) = signals.wait(TICK) {
            // A second request kills at once.
            let again = asked.replace(signal).is_some();
            process.signal(if again { Signal::KILL } else { Signal::TERM });
            limit = limit.or(Some(now() + GRACE));
        }
        if limit.is_some_and(|limit| now() > limit) {
            process.signal(Signal::KILL);
        }
        let Some(status) = process.ended() else { continue };
        if let Some(guard) = &mut guard {
            guard.remove(process.group());
        }
        if let Some(signal) = asked {
            return u8::try_from(128 + signal).unwrap_or(1);
        }
        match status.success() {
            true => info!("the job is done after {:.1} s", process.since.elapsed().as_secs_f64()),
            false => error!("mpirun {}", how(status)),
        }
        return exit_code(status);
    }
}

/// Fails if the job cannot be one of `mpirun`.
fn check(launch: &Launch) -> Result<()> {
    let refused = |what: &str, help: &str| Err(Error::new(Kind::Argument, what).help(help));
    let with_servers = launch.plan.ranks.iter().any(|rank| !rank.servers.is_empty());
    match () {
        () if launch.plan.ranks.is_empty() || with_servers => refused(
            "--backend mpi is for collective workers, without servers",
            "give --nproc-per-node, and --ips on several hosts",
        ),
        () if launch.elastic || launch.max_restart > 0 => refused(
            "MPI ends all processes when one fails: it cannot be used with --elastic or --max-restart",
            "leave out --backend mpi",
        ),
        () if launch.plan.ranks[0].worker_endpoints.is_empty() => {
            refused("nothing says where the workers are", "give --nproc-per-node, and --ips on several hosts")
        }
        () => Ok(()),
    }
}

/// Is `mpirun` that of Open MPI?
fn is_open_mpi() -> Result<bool> {
    let asked = Command::new("mpirun").arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).contains("Open MPI")),
        Err(e) => {
            let what = match e.kind() {
                ErrorKind::NotFound => "there is no mpirun on this machine".to_string(),
                _ => format!("mpirun cannot be started: {e}"),
            };
            Err(Error::new(Kind::Unsupported, what)
                .help("install an MPI (Debian: openmpi-bin), or leave out --backend mpi"))
        }
    }
}

fn command(launch: &Launch, open_mpi: bool) -> Command {
    let mut command = Command::new("mpirun");
    // Variables of a job around the launcher do not describe this job.
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    if open_mpi {
        // More workers than cores are the user's choice, and each has threads.
        command.args(["--oversubscribe", "--bind-to", "none", "--tag-output"]);
        if getuid().is_root() {
            command.arg("--allow-run-as-root");
        }
    }
    let first = &launch.plan.ranks[0];
    for (index, endpoint) in first.worker_endpoints.iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        command.args(["-n", "1"]);
        let host = split(endpoint).0;
        if !launch.plan.complete {
            command.args(["-host", host]);
        }
        let here = first.worker_endpoints.iter().filter(|other| split(other).0 == host).count();
        let cluster = Cluster { role: Role::Worker(index), ..first.clone() };
        let vars = variables(launch, &cluster, here, launch.job.as_deref());
        command.arg("env").args(vars.iter().map(|(name, value)| format!("{name}={value}")));
        command.args(launch.program.words());
    }
    command
}
