//! Settings of servers and trainers from the environment.

use oarlock_io::wal::Durability;
use oarlock_io::{TableFiles, TableForm};
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Floats, Get, NetOptions, env_var, millis};

use crate::client::ClientOptions;
use crate::server::{LogOptions, Policy, ServerOptions};

impl ServerOptions {
    /// As the environment says: `OARLOCK_ON_LOSS` (fail, wait or shrink), `FLAGS_rpc_deadline` (milliseconds),
    /// `OARLOCK_SILENCE` (milliseconds without a heartbeat after which a trainer is lost), `OARLOCK_STAY`, `OARLOCK_SERVER_LOG` (the
    /// folder of logs), `OARLOCK_DURABILITY` (process or power), `OARLOCK_SERVER_LOG_MB`, and what [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<ServerOptions> {
        ServerOptions::from_vars(&env_var)
    }

    fn from_vars(get: Get<'_>) -> Result<ServerOptions> {
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
            log: server_log(get)?,
            ..default
        })
    }
}

impl ClientOptions {
    /// As the environment says: `FLAGS_rpc_deadline` (milliseconds), `OARLOCK_PAYLOAD` (f32, bf16 or f16), `OARLOCK_TABLE_FILES`
    /// (auto, one, parts or text) and `OARLOCK_TABLE_PART_MB` (MiB in a part), and what [`NetOptions::from_env`] reads.
    pub fn from_env() -> Result<ClientOptions> {
        ClientOptions::from_vars(&env_var)
    }

    fn from_vars(get: Get<'_>) -> Result<ClientOptions> {
        let default = ClientOptions { net: NetOptions::from_env()?, ..ClientOptions::default() };
        Ok(ClientOptions {
            deadline: millis(get, "FLAGS_rpc_deadline")?.unwrap_or(default.deadline),
            floats: floats(get)?,
            tables: tables(get)?,
            ..default
        })
    }
}

fn server_log(get: Get<'_>) -> Result<Option<LogOptions>> {
    let Some(root) = get("OARLOCK_SERVER_LOG").filter(|root| !root.is_empty()) else { return Ok(None) };
    let mut log = LogOptions::at(root);
    if let Some(name) = get("OARLOCK_DURABILITY") {
        log.durability = Durability::parse(&name).ok_or_else(|| {
            Error::new(Kind::Argument, format!("OARLOCK_DURABILITY names no level: {name:?}"))
                .help("set it to process or power, or unset it")
        })?;
    }
    if let Some(text) = get("OARLOCK_SERVER_LOG_MB") {
        log.limit = match text.trim().parse::<u64>() {
            Ok(mb) if (1..=1 << 20).contains(&mb) => mb << 20,
            _ => {
                let what = format!("OARLOCK_SERVER_LOG_MB must be a positive number of MiB, but it is {text:?}");
                return Err(Error::new(Kind::Argument, what));
            }
        };
    }
    Ok(Some(log))
}

fn floats(get: Get<'_>) -> Result<Floats> {
    match get("OARLOCK_PAYLOAD").as_deref() {
        None | Some("f32") => Ok(Floats::F32),
        Some("bf16") => Ok(Floats::Bf16),
        Some("f16") => Ok(Floats::F16),
        Some(other) => Err(Error::new(Kind::Argument, format!("OARLOCK_PAYLOAD names no form of numbers: {other:?}"))
            .help("set it to f32, bf16 or f16, or unset it")),
    }
}

fn tables(get: Get<'_>) -> Result<TableFiles> {
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
    use std::time::Duration;

    use super::*;

    fn with(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |n| (n == name).then(|| value.to_string())
    }

    #[test]
    fn environment_variables_set_options() {
        let options = ServerOptions::from_vars(&with("OARLOCK_ON_LOSS", "shrink")).unwrap();
        assert_eq!(options.policy, Policy::Shrink);
        assert!(options.log.is_none());
        let options = ServerOptions::from_vars(&with("OARLOCK_SERVER_LOG", "logs")).unwrap();
        assert_eq!(options.log.unwrap().root.to_str(), Some("logs"));
        let options = ClientOptions::from_vars(&with("OARLOCK_TABLE_FILES", "text")).unwrap();
        assert_eq!(options.tables.form, TableForm::Text);
        let options = ClientOptions::from_vars(&with("OARLOCK_TABLE_PART_MB", "0.5")).unwrap();
        assert_eq!(options.tables.part_bytes, 1 << 19);
        assert!(ClientOptions::from_vars(&with("OARLOCK_TABLE_PART_MB", "0")).is_err());
        let options = ClientOptions::from_vars(&with("FLAGS_rpc_deadline", "1500")).unwrap();
        assert_eq!(options.deadline, Duration::from_millis(1500));
    }

    #[test]
    fn invalid_environment_variables_are_errors() {
        let error = ServerOptions::from_vars(&with("OARLOCK_ON_LOSS", "pray")).unwrap_err();
        assert_eq!(error.report().what, "OARLOCK_ON_LOSS must say what to do, but it is \"pray\"");
        let error = ClientOptions::from_vars(&with("FLAGS_rpc_deadline", "soon")).unwrap_err();
        assert_eq!(error.report().what, "FLAGS_rpc_deadline must be a number of milliseconds, but it is \"soon\"");
    }
}
