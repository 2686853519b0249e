//! Settings from the environment: the one place of this crate that reads it.

use std::num::NonZero;
use std::sync::{Arc, Mutex};

use oarlock_exec::ExecOptions;
use oarlock_io::ModelTables;
use oarlock_ir::{Error, Kind, Registry, Result, fail};
use oarlock_launch::{Cluster, Role};
use oarlock_net::{NetOptions, logging};
use tracing::warn;

use crate::trainer::Show;
use crate::{Executor, JobOptions, JobRuntime};

/// How programs are run; nothing here changes results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Compute threads (`OARLOCK_THREADS`; all cores if not set).
    pub threads: usize,
    /// Look for nan and infinity after each operator (`FLAGS_check_nan_inf`; off if not set).
    pub check_nan_inf: bool,
}

impl Options {
    /// As the environment says.
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
    pub fn from_env() -> Result<Options> {
        check_environment()?;
        Options::from_vars(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// As these variables say.
    fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<Options> {
        let threads = match get("OARLOCK_THREADS") {
            Some(value) => positive("OARLOCK_THREADS", &value)?,
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let check_nan_inf = match get("FLAGS_check_nan_inf") {
            Some(value) => flag("FLAGS_check_nan_inf", &value)?,
            None => false,
        };
        // Read where the registry is made; here a bad value is an error.
        get(VERIFY).map_or(Ok(false), |value| flag(VERIFY, &value))?;
        Ok(Options { threads, check_nan_inf })
    }

    /// The options of an executor that knows these operators.
    pub fn exec_options(&self, registry: Arc<Registry>) -> ExecOptions {
        ExecOptions {
            registry,
            threads: self.threads,
            fuse: true,
            without_fusions: Vec::new(),
            check_nan_inf: self.check_nan_inf,
        }
    }

    /// An executor that knows all operators and can be part of a cluster.
    pub fn executor(&self) -> Executor {
        self.executor_in(JobOptions::default())
    }

    /// The same, with settings of its part in a job.
    pub fn executor_in(&self, job: JobOptions) -> Executor {
        let job = Arc::new(JobRuntime::new(self.threads, job));
        Executor::new(self.exec_options(Arc::new(crate::registry())), job)
    }
}

/// Verifies programs after every pass of a compilation if this variable says so.
const VERIFY: &str = "OARLOCK_VERIFY";

/// Does `OARLOCK_VERIFY` ask for programs to be verified after every pass?
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
pub(crate) fn verify_from_env() -> bool {
    std::env::var(VERIFY).is_ok_and(|value| flag(VERIFY, &value).unwrap_or(false))
}

/// Starts logging as `OARLOCK_LOG` and `OARLOCK_LOG_FORMAT` say (see [`logging`]), with the job, role and rank that the environment
/// gives this process. To be called first in a program; calls after the first have no effect.
pub fn init_logging() -> Result<()> {
    logging::init()?;
    let job = NetOptions::from_env()?.job;
    // An environment that describes half a job is an error where the job is joined.
    let cluster = Cluster::from_env().ok().flatten();
    let role = cluster.as_ref().map(|cluster| match cluster.role {
        Role::Server(index) => ("server", index),
        Role::Worker(index) if cluster.servers.is_empty() => ("worker", index),
        Role::Worker(index) => ("trainer", index),
    });
    logging::set_process(logging::Process {
        job: (!job.is_empty()).then_some(job),
        role: role.map(|(role, _)| role.to_string()),
        rank: role.map(|(_, rank)| rank),
    });
    Ok(())
}

/// Refuses the environment if a variable `OARLOCK_...` is misspelt, and warns, once in a process, of others that nothing reads.
pub fn check_environment() -> Result<()> {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    for warning in crate::settings::check_variables(names.iter().map(String::as_str))? {
        let mut told = TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !told.contains(&warning) {
            warn!("{warning}");
            told.push(warning);
        }
    }
    Ok(())
}

/// How hashed tables are stored in inference models, as `OARLOCK_MODEL_TABLES` says: `auto` (the default), `dense` or `rows`.
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
pub fn model_tables_from_env() -> Result<ModelTables> {
    let name = std::env::var("OARLOCK_MODEL_TABLES").unwrap_or_default();
    if name.is_empty() {
        return Ok(ModelTables::default());
    }
    ModelTables::parse(&name).ok_or_else(|| {
        Error::new(Kind::Argument, format!("OARLOCK_MODEL_TABLES must be auto, dense or rows, but it is {name:?}"))
    })
}

impl Show {
    /// As `OARLOCK_PROGRESS` says: `auto` (a bar on a terminal, otherwise lines; the default), `lines` or `off`.
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
    pub fn from_env() -> Result<Show> {
        match std::env::var("OARLOCK_PROGRESS").as_deref() {
            Err(_) | Ok("" | "auto") => Ok(Show::Fitting),
            Ok("lines") => Ok(Show::Lines),
            Ok("off") => Ok(Show::Nothing),
            Ok(other) => fail!(Kind::Argument, "OARLOCK_PROGRESS must be auto, lines or off, but it is {other:?}"),
        }
    }
}

fn positive(name: &str, value: &str) -> Result<usize> {
    match value.trim().parse::<usize>() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(Error::new(Kind::Argument, format!("{name} must be a number of threads, but it is {value:?}"))
            .help(format!("unset {name} to use all cores"))),
    }
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" => Ok(true),
        "0" | "f" | "false" | "n" | "no" | "" => Ok(false),
        _ => fail!(Kind::Argument, "{name} must be true or false, but it is {value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Options> {
        Options::from_vars(|n| (n == name).then(|| value.to_string()))
    }

    #[test]
    fn what_is_set_counts() {
        assert_eq!(with("OARLOCK_THREADS", "3").map(|o| o.threads).ok(), Some(3));
        assert_eq!(with("FLAGS_check_nan_inf", "True").map(|o| o.check_nan_inf).ok(), Some(true));
        assert!(!with("", "").expect("nothing is set").check_nan_inf);
    }

    #[test]
    fn a_bad_value_is_named() {
        let text = with("OARLOCK_THREADS", "many").expect_err("no number").to_string();
        assert_eq!(
            text,
            "error[argument]: OARLOCK_THREADS must be a number of threads, but it is \"many\"\n  \
             help: unset OARLOCK_THREADS to use all cores"
        );
        let text = with("FLAGS_check_nan_inf", "maybe").expect_err("no bool").to_string();
        assert_eq!(text, "error[argument]: FLAGS_check_nan_inf must be true or false, but it is \"maybe\"");
        let text = with("OARLOCK_VERIFY", "always").expect_err("no bool").to_string();
        assert_eq!(text, "error[argument]: OARLOCK_VERIFY must be true or false, but it is \"always\"");
    }
}
