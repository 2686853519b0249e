//! Settings of groups from the environment.

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Get, NetOptions, env_var, flag, millis};

use crate::{Backend, GroupOptions};

impl GroupOptions {
    /// Settings for groups that a runtime's operators join, as the environment says: `FLAGS_rpc_deadline` and `OARLOCK_SILENCE`
    /// (milliseconds), `OARLOCK_FUSE_MB` (gradients are exchanged together up to this size), `OARLOCK_BACKEND` (auto, tcp
    /// or mpi), `OARLOCK_MPI_LIBRARY` (its file), `OARLOCK_HIERARCHICAL` (0 or 1), `OARLOCK_ELASTIC` (0 or 1) with `OARLOCK_RESTART` and `OARLOCK_GROUP_DONE` (a file), `NCCL_SOCKET_IFNAME` where `OARLOCK_NET_DEVICE` is not set, and what
    /// [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<GroupOptions> {
        GroupOptions::from_vars(&env_var)
    }

    fn from_vars(get: Get<'_>) -> Result<GroupOptions> {
        let default = GroupOptions::new(0, Vec::new());
        let mut net = NetOptions::from_env()?;
        // NCCL takes lists and patterns; one device by its name is what is asked for in practice.
        net.device =
            net.device.or_else(|| get("NCCL_SOCKET_IFNAME").map(|name| name.trim_start_matches('=').to_string()));
        let fuse_bytes = match get("OARLOCK_FUSE_MB") {
            None => default.fuse_bytes,
            Some(text) => match text.trim().parse::<f64>() {
                Ok(mb) if (0.0..=4096.0).contains(&mb) => (mb * f64::from(1 << 20)) as usize,
                _ => {
                    let what = format!("OARLOCK_FUSE_MB must be a number from 0 to 4096, but it is {text:?}");
                    return Err(Error::new(Kind::Argument, what));
                }
            },
        };
        Ok(GroupOptions {
            net,
            deadline: millis(get, "FLAGS_rpc_deadline")?.unwrap_or(default.deadline),
            heartbeat_timeout: millis(get, "OARLOCK_SILENCE")?.unwrap_or(default.heartbeat_timeout),
            backend: get("OARLOCK_BACKEND").map_or(Ok(default.backend), |name| Backend::parse(&name))?,
            mpi_library: get("OARLOCK_MPI_LIBRARY"),
            hierarchical: flag(get, "OARLOCK_HIERARCHICAL")?.unwrap_or(default.hierarchical),
            elastic: flag(get, "OARLOCK_ELASTIC")?.unwrap_or(default.elastic),
            rejoins: get("OARLOCK_RESTART").is_some_and(|count| count.trim() != "0"),
            finished_file: get("OARLOCK_GROUP_DONE").map(Into::into),
            fuse_bytes,
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |n| (n == name).then(|| value.to_string())
    }

    #[test]
    fn groups_read_their_variables() {
        let options = GroupOptions::from_vars(&with("OARLOCK_FUSE_MB", "0.5")).unwrap();
        assert_eq!(options.fuse_bytes, 1 << 19);
        assert_eq!(GroupOptions::from_vars(&with("OARLOCK_BACKEND", "tcp")).unwrap().backend, Backend::Tcp);
        let error = GroupOptions::from_vars(&with("OARLOCK_BACKEND", "nccl")).unwrap_err();
        assert_eq!(error.report().what, "the backend nccl needs an Oarlock that was built for GPUs");
        let options = GroupOptions::from_vars(&with("NCCL_SOCKET_IFNAME", "eth0")).unwrap();
        assert_eq!(options.net.device.as_deref(), Some("eth0"));
        let error = GroupOptions::from_vars(&with("OARLOCK_HIERARCHICAL", "maybe")).unwrap_err();
        assert_eq!(error.report().what, "OARLOCK_HIERARCHICAL must be 0 or 1, but it is \"maybe\"");
    }
}
