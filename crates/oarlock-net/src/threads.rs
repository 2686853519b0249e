//! Threads of servers and trainers.

use std::thread::{Builder, JoinHandle};

use oarlock_ir::{Error, Kind, Result};

/// Starts a thread of this name; `what_for` is said if the system gives none.
pub fn spawn(name: &str, what_for: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(work).map_err(|e| {
        Error::new(Kind::Network, format!("no thread for {what_for}: {e}"))
            .help("see how many threads this user may have (`ulimit -u`) and how much memory is left")
    })
}
