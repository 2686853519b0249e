//! The part of this process in a job, which all executors share. Python makes one and keeps it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock::{JobOptions, JobRuntime, Kind, Options, ir};
use pyo3::prelude::*;

use crate::error::{IntoPy, raise};
use crate::executor::watch;

/// The part of this process in a job.
#[pyclass(frozen)]
pub(crate) struct Runtime {
    pub(crate) job: Arc<JobRuntime>,
    pub(crate) inner: Arc<ir::Runtime>,
    /// The number of runs under way.
    running: Arc<AtomicUsize>,
}

#[pymethods]
impl Runtime {
    /// As the environment says.
    #[new]
    fn new() -> PyResult<Runtime> {
        let threads = Options::from_env().py()?.threads;
        let job = Arc::new(JobRuntime::new(threads, JobOptions::from_env().py()?));
        let (inner, running) = (job.runtime().clone(), Arc::default());
        watch(&inner.stop_flag(), &running);
        Ok(Runtime { job, inner, running })
    }

    /// Does this process take part in a job as a trainer?
    fn is_connected(&self) -> bool {
        self.job.is_connected()
    }

    /// Complete steps of synchronous training, those of an earlier process with this trainer's number included.
    fn done(&self) -> u64 {
        self.job.steps_done()
    }

    /// Ends the part of this process in its job; false if there was none.
    fn close(&self, py: Python<'_>) -> PyResult<bool> {
        self.compute(py, || self.job.close())
    }

    /// Breaks all connections without a word, as a process does that ends in an error: its servers do what their policy says.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.job.abandon());
    }

    /// The script ended in an error: this process is lost for the others of its job.
    fn end_in_error(&self, py: Python<'_>) {
        py.detach(|| self.job.end_in_error());
    }

    /// When this process ends, its exit status says whether it leaves its job or is lost. False where the system does not tell the
    /// status: then `end` is to be called.
    fn end_with_process(&self) -> bool {
        self.job.end_with_process()
    }

    /// Leaves the job, if this process has not done so, as one that ends with this status.
    fn end(&self, py: Python<'_>, status: i32) {
        py.detach(|| self.job.end(status));
    }

    /// A script that ends without having left is no reason for a warning.
    fn end_quietly(&self) {
        self.job.end_quietly();
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
