//! Structured logging of a process: `tracing` events to the standard error output, as lines for people or as JSON.
//!
//! Libraries emit events and never print; a program that wants to see them calls [`init`] (the `oarlock` command, the Python package
//! and the examples do), or installs a `tracing` subscriber of its own. `OARLOCK_LOG` selects levels and modules (`info`,
//! `warn,oarlock_ps=debug`), `OARLOCK_LOG_FORMAT=json` writes one JSON object per line. Every JSON object has the fields of the
//! process ([`Process`]: job, role, rank) and those of the event (peer, step, ...); an event's own field wins.
//!
//! No event of any level may carry a secret: tokens, keys and proofs are not fields, and `Debug` of the options hides them.

mod format;
mod status;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::RwLock;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::settings::{Get, env_var};
pub(crate) use format::Fields;
use format::{Format, Lines};
pub use status::{Cleared, clear_status, set_status};

/// The fields that every event of this process has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// The name of the job (`OARLOCK_JOB_ID`).
    pub job: Option<String>,
    /// `server`, `trainer`, `worker` (of a collective job) or `launcher`.
    pub role: Option<String>,
    /// The index of the process among those of its role.
    pub rank: Option<usize>,
}

static PROCESS: RwLock<Process> = RwLock::new(Process { job: None, role: None, rank: None });
static WARNINGS_ONLY: AtomicBool = AtomicBool::new(false);

/// Starts logging as `OARLOCK_LOG` and `OARLOCK_LOG_FORMAT` say. Calls after the first have no effect, nor has one in a process
/// with another `tracing` subscriber.
pub fn init() -> Result<()> {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*done {
        let subscriber = subscriber(&env_var, status::write_line)?;
        // Another subscriber was chosen on purpose.
        let _ = tracing::subscriber::set_global_default(subscriber);
        *done = true;
    }
    Ok(())
}

/// Sets the fields that every event of this process has from now on.
pub fn set_process(process: Process) {
    *PROCESS.write() = process;
}

/// Drops events below warnings from now on, `OARLOCK_LOG` notwithstanding.
pub fn warnings_only() {
    WARNINGS_ONLY.store(true, Ordering::Relaxed);
}

/// The subscriber for these variables; complete lines, each with its line end, go to `write`.
fn subscriber(get: Get<'_>, write: impl Fn(&str) + Send + Sync + 'static) -> Result<impl Subscriber + Send + Sync> {
    let format = match get("OARLOCK_LOG_FORMAT").as_deref().map(str::trim) {
        None | Some("" | "text") => Format::Text,
        Some("json") => Format::Json,
        Some(other) => {
            let what = format!("OARLOCK_LOG_FORMAT must be text or json, but it is {other:?}");
            return Err(Error::new(Kind::Argument, what).help("unset OARLOCK_LOG_FORMAT for lines of text"));
        }
    };
    let levels = levels(&get("OARLOCK_LOG").unwrap_or_default())?;
    Ok(tracing_subscriber::registry().with(levels).with(Lines { format, write }))
}

/// Levels by module. Modules of other crates are quiet unless a level without a module is given.
fn levels(text: &str) -> Result<Targets> {
    let usual = Targets::new().with_target("oarlock", LevelFilter::INFO);
    if text.trim().is_empty() {
        return Ok(usual);
    }
    let given: Targets = text.trim().parse().map_err(|_| {
        let what = format!("OARLOCK_LOG must be levels by module, such as info,oarlock_ps=debug, but it is {text:?}");
        Error::new(Kind::Argument, what).help("levels are off, error, warn, info, debug and trace")
    })?;
    Ok(if given.default_level().is_some() { given } else { usual.with_targets(given) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tracing::{debug, info, warn};

    /// The lines that `work` logs with these variables.
    fn logged(vars: &[(&str, &str)], work: impl FnOnce()) -> Vec<String> {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let sink = lines.clone();
        let get = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
        let subscriber = subscriber(&get, move |line| sink.lock().unwrap().push(line.to_string())).unwrap();
        tracing::subscriber::with_default(subscriber, work);
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    fn three_events() {
        info!(step = 7, "parameters are saved");
        warn!(peer = "10.0.0.2:6170", "the peer is slow\n  help: wait");
        debug!(target: "oarlock_ps::server", peer = "10.0.0.2:6170", "connected");
    }

    #[test]
    fn text_lines_show_levels_of_warnings_and_fields_of_debug_events() {
        let warning = "oarlock: warning: the peer is slow\n  help: wait\n";
        assert_eq!(logged(&[], three_events), ["oarlock: parameters are saved\n", warning]);
        assert_eq!(logged(&[("OARLOCK_LOG", "warn")], three_events), [warning]);
        let some = logged(&[("OARLOCK_LOG", "warn,oarlock_ps=debug")], three_events);
        assert_eq!(some, [warning, "oarlock: debug: connected peer=10.0.0.2:6170\n"]);
        assert_eq!(logged(&[("OARLOCK_LOG", "oarlock_ps=debug")], three_events).len(), 3);
        assert!(logged(&[("OARLOCK_LOG", "off")], three_events).is_empty());
    }

    #[test]
    fn json_lines_have_the_fields_of_process_and_event() {
        set_process(Process { job: Some("j1".into()), role: Some("trainer".into()), rank: Some(3) });
        let lines = logged(&[("OARLOCK_LOG_FORMAT", "json")], || {
            three_events();
            info!(rank = 1, share = 0.5, more = true, "of another rank");
        });
        let records: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().all(|line| line.ends_with("}\n") && line.matches('\n').count() == 1), "{lines:?}");
        let first = &records[0];
        assert_eq!((&first["job"], &first["role"], &first["rank"]), (&"j1".into(), &"trainer".into(), &3.into()));
        assert_eq!((&first["message"], &first["step"]), (&"parameters are saved".into(), &7.into()));
        assert_eq!((&first["level"], &first["target"]), (&"info".into(), &"oarlock_net::logging::tests".into()));
        assert!(first["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{first}");
        assert_eq!((&records[1]["level"], &records[1]["peer"]), (&"warn".into(), &"10.0.0.2:6170".into()));
        assert_eq!(
            (&records[2]["rank"], &records[2]["share"], &records[2]["more"]),
            (&1.into(), &0.5.into(), &true.into())
        );
    }

    #[test]
    fn wrong_values_are_refused_with_help() {
        let error = |name: &str, value: &str| {
            let get = |n: &str| (n == name).then(|| value.to_string());
            subscriber(&get, |_| ()).map(drop).unwrap_err().to_string()
        };
        assert_eq!(
            error("OARLOCK_LOG", "oarlock_ps=loud"),
            "error[argument]: OARLOCK_LOG must be levels by module, such as info,oarlock_ps=debug, but it is \
             \"oarlock_ps=loud\"\n  help: levels are off, error, warn, info, debug and trace"
        );
        assert!(error("OARLOCK_LOG_FORMAT", "xml").contains("OARLOCK_LOG_FORMAT must be text or json"));
    }
}
