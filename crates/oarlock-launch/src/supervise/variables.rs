//! The environment of the processes of a job.

use super::Launch;
use crate::cluster::{Cluster, Role};
use crate::var;

/// The variables for a process, one of `here` on its host.
pub(crate) fn variables(launch: &Launch, cluster: &Cluster, here: usize, job: Option<&str>) -> Vec<(String, String)> {
    let mut vars = cluster.emit();
    vars.push(("PYTHONUNBUFFERED", "1".to_string()));
    // A value that the user has set counts.
    let mut unless_set = |name: &'static str, value: String| {
        if var(name).is_none() {
            vars.push((name, value));
        }
    };
    if let Some(job) = job {
        unless_set("OARLOCK_JOB_ID", job.to_string());
    }
    if launch.max_restart > 0 {
        unless_set("OARLOCK_ON_LOSS", "wait".to_string());
    }
    if cluster.servers.is_empty() {
        // Collective workers of one host share its cores; each is one replica.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        unless_set("OARLOCK_THREADS", (cores / here.max(1)).max(1).to_string());
        unless_set("CPU_NUM", "1".to_string());
    }
    let logs = &launch.server_logs;
    if matches!(cluster.role, Role::Server(_)) {
        // Without the name of a job a server could not tell its log from that of another one.
        let named = job.is_some() || var("OARLOCK_JOB_ID").or_else(|| var("SYS_JOB_ID")).is_some();
        let dir = logs.dir.as_ref().filter(|_| named).map_or(String::new(), |dir| dir.display().to_string());
        // An empty name means no log, so it counts even where the environment of the launcher names one.
        vars.push(("OARLOCK_SERVER_LOG", dir));
        vars.extend(logs.durability.iter().map(|level| ("OARLOCK_DURABILITY", level.clone())));
    }
    let vars = vars.into_iter().map(|(name, value)| (name.to_string(), value));
    vars.chain(launch.settings.iter().cloned()).collect()
}
