//! How a process leaves its job when it ends without having said so: its exit status decides, which is known when all else is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_collective::Groups;
use oarlock_ir::{Result, Runtime};
use oarlock_ps::client::Client;
use oarlock_sys::at_exit;
use parking_lot::Mutex;
use tracing::warn;

use super::leave;

/// What is left to do with the job of a runtime when its process ends.
pub struct Ending {
    runtime: Arc<Runtime>,
    /// The script is not expected to say that it leaves.
    quiet: AtomicBool,
    finish: Mutex<Option<Finish>>,
}

/// Takes part in the steps of other workers until nobody has data.
type Finish = Box<dyn FnOnce() -> Result<()> + Send>;

impl Ending {
    /// For the job of this runtime.
    pub fn new(runtime: Arc<Runtime>) -> Ending {
        Ending { runtime, quiet: AtomicBool::new(false), finish: Mutex::new(None) }
    }

    /// A process that has not left before its end is no reason for a warning.
    pub fn be_quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    /// What a worker does for the others before it leaves them at the end of its process.
    pub fn finish_with(&self, finish: impl FnOnce() -> Result<()> + Send + 'static) {
        *self.finish.lock() = Some(Box::new(finish));
    }

    /// Calls [`Ending::end`] when this process ends. False where the system does not tell its status.
    pub fn await_exit(self: &Arc<Ending>) -> bool {
        let ending = self.clone();
        at_exit(move |status| ending.end(status))
    }

    /// Ends the part of this process in its job, if it still has one: with status 0 it leaves, with another it is lost.
    pub fn end(&self, status: i32) {
        let trains = self.runtime.get::<Client>().is_some_and(|client| client.is_connected());
        if !trains && Groups::of(&self.runtime).active().is_none() {
            return;
        }
        if status != 0 {
            warn!(status, "this process ends with status {status}: for the others of its job it is lost");
            return self.abandon();
        }
        if trains && !self.quiet.load(Ordering::Relaxed) {
            warn!("this trainer ends without exe.close(); it leaves its servers now");
        }
        let finish = self.finish.lock().take();
        let finished = finish.map_or(Ok(()), |finish| finish());
        if let Err(e) = finished.and(leave(&self.runtime).map(drop)) {
            warn!("{e}");
        }
    }

    /// Breaks all connections without a word, as a process does that is killed: the others do what their policy says.
    pub fn abandon(&self) {
        Groups::of(&self.runtime).abandon();
        if let Some(client) = self.runtime.withdraw::<Client>() {
            client.abandon();
        }
    }
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").field("quiet", &self.quiet).finish_non_exhaustive()
    }
}
