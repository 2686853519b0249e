//! The logs of the servers of a job: where they are, which servers can be restarted with theirs, and when logs are deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::file_name;
use tracing::{info, warn};

/// The time in which restarts of a server are counted.
const HOUR: Duration = Duration::from_secs(3600);

/// The longest wait before a server is restarted.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How servers keep logs, and how often they are restarted with them.
#[derive(Debug, Clone, Default)]
pub struct ServerLogs {
    /// The directory of logs, with a folder for each job; none if servers keep none.
    pub dir: Option<PathBuf>,
    /// How often each server is restarted in an hour.
    pub max_restart: u32,
    /// Go on with the logs of a job whose launcher was killed.
    pub resume: bool,
    /// What an acknowledged push survives: `process` or `power`.
    pub durability: Option<String>,
}

impl ServerLogs {
    /// The folder of a job.
    fn of_job(&self, job: &str) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(file_name(job)))
    }

    /// A new job must not go on with an old log by chance; one that resumes must have one.
    pub(super) fn check(&self, job: Option<&str>) -> Result<()> {
        let found = job.and_then(|job| self.of_job(job)).filter(|dir| dir.is_dir());
        match (found, self.resume, job) {
            (Some(dir), false, Some(job)) => {
                Err(Error::new(Kind::Argument, format!("job {job:?} has logs of servers in {}: it has not ended", dir.display()))
                    .help("go on with it by --resume, or give this job another name (--job-id); delete the directory if the job is not needed any more"))
            }
            (None, true, Some(job)) => {
                let dir = self.of_job(job).unwrap_or_default();
                Err(Error::new(Kind::Missing, format!("job {job:?} has no logs of servers in {}", dir.display()))
                    .help("give the --job-id and the --log-dir (or --server-log) of the job to go on with"))
            }
            (_, true, None) => Err(Error::new(Kind::Argument, "--resume needs to know which job is to go on")
                .help("give its name: --job-id")),
            _ => Ok(()),
        }
    }

    /// Can a server be restarted with its log?
    pub(super) fn has(&self, job: Option<&str>, server: usize) -> bool {
        let of_server = |dir: PathBuf| dir.join(server.to_string()).join("server").join("server.json");
        job.and_then(|job| self.of_job(job)).is_some_and(|dir| of_server(dir).is_file())
    }

    /// How long to wait before a server is restarted that was restarted at these times; `None` if it was restarted often enough.
    pub(super) fn wait_before_restart(&self, restarts: &[Instant], now: Instant) -> Option<Duration> {
        let lately = restarts.iter().filter(|at| now.saturating_duration_since(**at) < HOUR).count() as u32;
        let wait = match lately {
            0 => Duration::ZERO,
            _ => Duration::from_secs(1 << (lately - 1).min(16)).min(LONGEST_WAIT),
        };
        (lately < self.max_restart).then_some(wait)
    }

    /// Deletes what servers left of a job that is done.
    pub(super) fn delete(&self, job: Option<&str>) {
        let Some(dir) = job.and_then(|job| self.of_job(job)) else { return };
        if dir.is_dir()
            && let Err(e) = fs::remove_dir_all(&dir)
        {
            warn!("the logs of servers in {} stay: {e}", dir.display());
        }
        // Other jobs may have theirs there.
        let _ = dir.parent().map(fs::remove_dir);
    }

    /// Says how a job that failed can go on, if its servers have logs.
    pub(super) fn tell_where(&self, job: Option<&str>) {
        if let Some((job, dir)) = job.and_then(|job| Some((job, self.of_job(job)?))).filter(|(_, dir)| dir.is_dir()) {
            let dir = dir.display();
            info!(
                "all updates that servers acknowledged are in {dir}: the same command with `--job-id {job} --resume` goes on"
            );
        }
    }
}

/// A path that means the same in any directory.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now;

    #[test]
    fn restarts_take_longer_every_time_and_end() {
        let logs = ServerLogs { max_restart: 3, ..ServerLogs::default() };
        let now = now();
        let wait = |ago: &[u64]| {
            let restarts: Vec<Instant> = ago.iter().filter_map(|s| now.checked_sub(Duration::from_secs(*s))).collect();
            logs.wait_before_restart(&restarts, now).map(|wait| wait.as_secs())
        };
        assert_eq!([wait(&[]), wait(&[5]), wait(&[9, 5]), wait(&[9, 7, 5])], [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn new_job_never_takes_the_log_of_another() {
        let dir = std::env::temp_dir().join(format!("oarlock-server-logs-{}", std::process::id()));
        fs::create_dir_all(dir.join("old/0/server")).unwrap();
        let logs = |resume| ServerLogs { dir: Some(dir.clone()), resume, ..ServerLogs::default() };
        assert!(logs(false).check(Some("new")).is_ok() && logs(true).check(Some("old")).is_ok());
        let error = logs(false).check(Some("old")).unwrap_err().to_string();
        assert!(error.contains("job \"old\" has logs of servers in"), "{error}");
        let error = logs(true).check(Some("new")).unwrap_err().to_string();
        assert!(error.contains("job \"new\" has no logs of servers in"), "{error}");
        assert!(!logs(true).has(Some("old"), 0));
        fs::write(dir.join("old/0/server/server.json"), "{}").unwrap();
        assert!(logs(true).has(Some("old"), 0) && !logs(true).has(Some("old"), 1));
        logs(true).delete(Some("old"));
        assert!(!dir.exists());
    }
}
