//! Where notes for the operator of a job go.

use std::fmt;
use std::sync::Arc;

/// Takes one line at a time. Parameter servers and their clients use it until they emit events themselves.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    /// Lines go to `sink`.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Log {
        Log(Arc::new(sink))
    }

    /// Lines become events (see [`crate::logging`]), those that begin with `warning: ` of that level.
    pub fn stderr() -> Log {
        Log::new(|line| match line.strip_prefix("warning: ") {
            Some(text) => tracing::warn!(target: "oarlock_ps", "{text}"),
            None => tracing::info!(target: "oarlock_ps", "{line}"),
        })
    }

    /// Lines are dropped.
    pub fn silent() -> Log {
        Log::new(|_| {})
    }

    /// Notes a line.
    pub fn line(&self, line: impl AsRef<str>) {
        (self.0)(line.as_ref());
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
