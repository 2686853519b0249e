//! Settings of servers and trainers from the environment.

use std::time::Duration;

use oarlock_io::{TableFiles, TableForm};
use oarlock_ir::{Error, Kind, Result};

use crate::client::ClientOptions;
use crate::collective::{Backend, GroupOptions};
use crate::server::{Policy, ServerOptions};
use crate::wire::{Floats, NetOptions};

impl ServerOptions {
    /// As the environment says: `OARLOCK_ON_LOSS` (fail, wait or shrink), `FLAGS_rpc_deadline` (milliseconds),
    /// `OARLOCK_SILENCE` (milliseconds without a sign of life after which a trainer is lost), `OARLOCK_STAY`, and what
    /// [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<ServerOptions> {
        ServerOptions::from_vars(&get)
    }

    fn from_vars(get: &dyn Fn(&str) -> Option<String>) -> Result<ServerOptions> {
        let default = ServerOptions { net: NetOptions::from_env()?, ..ServerOptions::default() };
        let policy = match get("OARLOCK_ON_LOSS") {
            None => default.policy,
            Some(name) => Policy::parse(&name).ok_or_else(|| {
                Error::new(Kind::Argument, format!("OARLOCK_ON_LOSS must say what to do, but it is {name:?}"))
                    .help("set it to fail, wait or shrink")
            })?,
        };
        Ok(ServerOptions {
            policy,
            deadline: millis(get, "FLAGS_rpc_deadline")?.unwrap_or(default.deadline),
            silence: millis(get, "OARLOCK_SILENCE")?.unwrap_or(default.silence),
            stay: get("OARLOCK_STAY").is_some_and(|v| v != "0"),
            ..default
        })
    }
}

impl ClientOptions {
    /// As the environment says: `FLAGS_rpc_deadline` (milliseconds), `OARLOCK_PAYLOAD` (f32, bf16 or f16), `OARLOCK_TABLE_FILES`
    /// (auto, one, parts or text) and `OARLOCK_TABLE_PART_MB` (MiB in a part), and what [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<ClientOptions> {
        ClientOptions::from_vars(&get)
    }

    fn from_vars(get: &dyn Fn(&str) -> Option<String>) -> Result<ClientOptions> {
        let default = ClientOptions { net: NetOptions::from_env()?, ..ClientOptions::default() };
        Ok(ClientOptions {
            deadline: millis(get, "FLAGS_rpc_deadline")?.unwrap_or(default.deadline),
            floats: floats(get)?,
            tables: tables(get)?,
            ..default
        })
    }
}

impl GroupOptions {
    /// Settings for groups that a runtime's operators join, as the environment says: `FLAGS_rpc_deadline` and `OARLOCK_SILENCE`
    /// (milliseconds), `OARLOCK_FUSE_MB` (gradients are exchanged together up to so many MiB), `OARLOCK_BACKEND` (auto, tcp
    /// or mpi), `OARLOCK_MPI_LIBRARY` (its file), `OARLOCK_HIERARCHICAL` (0 or 1), `OARLOCK_ELASTIC` (0 or 1) with `OARLOCK_RESTART` and `OARLOCK_GROUP_DONE` (a file), `NCCL_SOCKET_IFNAME` where `OARLOCK_NET_DEVICE` is not set, and what
    /// [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<GroupOptions> {
        GroupOptions::from_vars(&get)
    }

    fn from_vars(get: &dyn Fn(&str) -> Option<String>) -> Result<GroupOptions> {
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
            silence: millis(get, "OARLOCK_SILENCE")?.unwrap_or(default.silence),
            backend: get("OARLOCK_BACKEND").map_or(Ok(default.backend), |name| Backend::parse(&name))?,
            mpi_library: get("OARLOCK_MPI_LIBRARY"),
            hierarchical: flag(get, "OARLOCK_HIERARCHICAL")?.unwrap_or(default.hierarchical),
            elastic: flag(get, "OARLOCK_ELASTIC")?.unwrap_or(default.elastic),
            late: get("OARLOCK_RESTART").is_some_and(|count| count.trim() != "0"),
            finished: get("OARLOCK_GROUP_DONE").map(Into::into),
            fuse_bytes,
            ..default
        })
    }
}

fn flag(get: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<bool>> {
    match get(name).as_deref().map(str::trim) {
        None => Ok(None),
        Some("0" | "false" | "False") => Ok(Some(false)),
        Some("1" | "true" | "True") => Ok(Some(true)),
        Some(other) => Err(Error::new(Kind::Argument, format!("{name} must be 0 or 1, but it is {other:?}"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place of servers and clients that reads the environment")]
fn get(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

fn millis(get: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<Duration>> {
    let Some(value) = get(name) else { return Ok(None) };
    match value.trim().parse::<u64>() {
        Ok(millis) if millis > 0 => Ok(Some(Duration::from_millis(millis))),
        _ => Err(Error::new(Kind::Argument, format!("{name} must be a number of milliseconds, but it is {value:?}"))),
    }
}

fn floats(get: &dyn Fn(&str) -> Option<String>) -> Result<Floats> {
    match get("OARLOCK_PAYLOAD").as_deref() {
        None | Some("f32") => Ok(Floats::F32),
        Some("bf16") => Ok(Floats::Bf16),
        Some("f16") => Ok(Floats::F16),
        Some(other) => Err(Error::new(Kind::Argument, format!("OARLOCK_PAYLOAD names no form of numbers: {other:?}"))
            .help("set it to f32, bf16 or f16, or unset it")),
    }
}

fn tables(get: &dyn Fn(&str) -> Option<String>) -> Result<TableFiles> {
    let mut files = TableFiles::default();
    if let Some(form) = get("OARLOCK_TABLE_FILES") {
        files.form = TableForm::parse(&form).ok_or_else(|| {
            Error::new(Kind::Argument, format!("OARLOCK_TABLE_FILES knows no form {form:?}"))
                .help("set it to auto, one, parts or text, or unset it")
        })?;
    }
    if let Some(text) = get("OARLOCK_TABLE_PART_MB") {
        files.part_bytes = match text.trim().parse::<f64>() {
            Ok(mb) if mb > 0.0 && mb <= 1e6 => (mb * f64::from(1 << 20)) as usize,
            _ => {
                let what = format!("OARLOCK_TABLE_PART_MB must be a positive number of MiB, but it is {text:?}");
                return Err(Error::new(Kind::Argument, what));
            }
        };
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |n| (n == name).then(|| value.to_string())
    }

    #[test]
    fn what_is_set_counts() {
        let options = ServerOptions::from_vars(&with("OARLOCK_ON_LOSS", "shrink")).unwrap();
        assert_eq!(options.policy, Policy::Shrink);
        let options = ClientOptions::from_vars(&with("OARLOCK_TABLE_FILES", "text")).unwrap();
        assert_eq!(options.tables.form, TableForm::Text);
        let options = ClientOptions::from_vars(&with("OARLOCK_TABLE_PART_MB", "0.5")).unwrap();
        assert_eq!(options.tables.part_bytes, 1 << 19);
        assert!(ClientOptions::from_vars(&with("OARLOCK_TABLE_PART_MB", "0")).is_err());
        let options = ClientOptions::from_vars(&with("FLAGS_rpc_deadline", "1500")).unwrap();
        assert_eq!(options.deadline, Duration::from_millis(1500));
    }

    #[test]
    fn groups_are_set_too() {
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

    #[test]
    fn what_makes_no_sense_is_named() {
        let error = ServerOptions::from_vars(&with("OARLOCK_ON_LOSS", "pray")).unwrap_err();
        assert_eq!(error.report().what, "OARLOCK_ON_LOSS must say what to do, but it is \"pray\"");
        let error = ClientOptions::from_vars(&with("FLAGS_rpc_deadline", "soon")).unwrap_err();
        assert_eq!(error.report().what, "FLAGS_rpc_deadline must be a number of milliseconds, but it is \"soon\"");
    }
}
