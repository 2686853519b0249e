//! What all executors of a process share: threads, the connection to servers, the communicator. Python makes one and keeps it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock::collective::{GroupOptions, Groups};
use oarlock::fleet::{self, Ending};
use oarlock::ps::client::{Client, ClientOptions};
use oarlock::ps::server::ServerOptions;
use oarlock::{Kind, Options, ir};
use pyo3::prelude::*;

use crate::error::{IntoPy, raise};
use crate::executor::watch;

/// A runtime that executors share.
#[pyclass(frozen)]
pub(crate) struct Runtime {
    pub(crate) inner: Arc<ir::Runtime>,
    pub(crate) ending: Arc<Ending>,
    /// How many runs are under way.
    running: Arc<AtomicUsize>,
}

#[pymethods]
impl Runtime {
    /// As the environment says.
    #[new]
    fn new() -> PyResult<Runtime> {
        let inner = Arc::new(ir::Runtime::new(Options::from_env().py()?.threads));
        oarlock::equip(
            &inner,
            ServerOptions::from_env().py()?,
            ClientOptions::from_env().py()?,
            GroupOptions::from_env().py()?,
        );
        let running = Arc::default();
        watch(&inner.stop_flag(), &running);
        Ok(Runtime { ending: Arc::new(Ending::new(inner.clone())), inner, running })
    }

    /// Does this process take part in a job as a trainer?
    fn is_connected(&self) -> bool {
        self.inner.get::<Client>().is_some_and(|client| client.is_connected())
    }

    /// Does this process exchange values with other workers?
    fn has_workers(&self) -> bool {
        Groups::of(&self.inner).active().is_some()
    }

    /// Complete steps of synchronous training, those of an earlier process with this trainer's number included. Known after the
    /// startup program has run: a trainer that comes back goes on from there.
    fn done(&self) -> u64 {
        self.inner.get::<Client>().map_or(0, |client| client.done())
    }

    /// Sends what waits and tells the servers that this trainer leaves; false if there is nobody to leave.
    fn leave(&self, py: Python<'_>) -> PyResult<bool> {
        self.compute(py, || fleet::leave(&self.inner))
    }

    /// Breaks all connections without a word, as a process does that ends in an error: its servers do what their policy says.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.ending.abandon());
    }

    /// When this process ends, its exit status says whether it leaves its job or is lost. False where the system does not tell the
    /// status: then `end` is to be called.
    fn end_with_process(&self) -> bool {
        self.ending.await_exit()
    }

    /// Leaves the job, if this process has not done so, as one that ends with this status.
    fn end(&self, py: Python<'_>, status: i32) {
        py.detach(|| self.ending.end(status));
    }

    /// A script that ends without having left is no reason for a warning.
    fn end_quietly(&self) {
        self.ending.be_quiet();
    }
}

impl Runtime {
    /// Runs `work` without the interpreter's lock. A signal stops it.
    pub(crate) fn compute<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> oarlock::Result<T> + Send,
    ) -> PyResult<T> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let result = py.detach(work);
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.inner.stop_flag().store(false, Ordering::Relaxed);
        }
        match result {
            Err(e) if e.kind() == Kind::Interrupted => {
                // The user's own handler decides what a signal means.
                py.check_signals()?;
                Err(raise(e))
            }
            other => other.py(),
        }
    }
}
