//! The reports of the supervisor: the start of a job, its progress, and the processes that failed.

use std::time::Duration;

use oarlock_ir::{Error, Kind};
use oarlock_net::logging::set_status;
use tracing::{error, info};

use super::{JobProcess, Supervisor, listens_on};
use crate::process::{Process, how};

impl Supervisor<'_> {
    /// Logs the processes and the program of the job.
    pub(super) fn introduce(&self) {
        let Some(cluster) = self.processes.first().map(|job_process| job_process.cluster) else { return };
        let here = match self.launch.plan.complete {
            true => String::new(),
            false => format!(", {} of them here", self.processes.len()),
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

    /// Updates the status line.
    pub(super) fn show_progress(&self) {
        if !self.launch.progress {
            return;
        }
        let number = |which: &dyn Fn(&JobProcess<'_>) -> bool| {
            self.processes.iter().filter(|job_process| which(job_process)).count()
        };
        let servers = count(number(&|job_process| job_process.is_server() && job_process.is_running()), "server");
        let workers = count(number(&|job_process| !job_process.is_server() && job_process.is_running()), "worker");
        let done = number(&|job_process| !job_process.is_server() && job_process.end.is_some());
        let time = self.start.elapsed().as_secs();
        let clock = format!("{}:{:02}", time / 60, time % 60);
        set_status(format!("oarlock: {servers} and {workers} running, {done} done  {clock}"));
    }

    /// Logs the processes that failed, and the last lines of the first.
    pub(super) fn report(&self, failed: &[usize]) {
        for (place, index) in failed.iter().enumerate() {
            let job_process = &self.processes[*index];
            let (Some(process), Some(end)) = (&job_process.process, job_process.end) else { continue };
            let time = seconds(process.since.elapsed());
            let log =
                self.log_path(job_process).map_or(String::new(), |path| format!("; its log is {}", path.display()));
            let end = if end.success() { "ended with exit code 0".to_string() } else { how(end) };
            let role = job_process.cluster.role;
            let lines = if place == 0 { last_lines(process) } else { String::new() };
            error!(process = %role, "{role} {end} after {time}{log}{lines}");
        }
    }

    pub(super) fn late(&self, late: &[usize]) -> Error {
        let first = late.first().map(|index| &self.processes[*index]);
        if let Some((process, role)) =
            first.and_then(|job_process| Some((job_process.process.as_ref()?, job_process.cluster.role)))
        {
            error!(process = %role, "{role} does not listen{}", last_lines(process));
        }
        let time = seconds(self.launch.ready);
        Error::new(Kind::Timeout, format!("{} did not listen within {time}", self.names(late)))
            .help("look at its log; --ready-timeout sets how long to wait (0: do not wait)")
    }

    /// The names of processes, with their endpoints.
    pub(super) fn names(&self, which: &[usize]) -> String {
        let name = |index: &usize| {
            let cluster = self.processes[*index].cluster;
            listens_on(cluster).map_or(cluster.role.to_string(), |endpoint| format!("{} ({endpoint})", cluster.role))
        };
        which.iter().map(name).collect::<Vec<_>>().join(", ")
    }
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

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
