//! A parameter server: it listens, holds the parameters of its program, and ends when every trainer has left.
//!
//! A thread accepts connections ([`listen`]); each connection has a thread of its own ([`session`]), which receives requests and
//! dispatches them to their definitions ([`crate::request`]). The state machines that requests drive have neither clock nor socket:
//! [`step_barrier`] decides when a step of synchronous training is complete, [`all_gather`] and [`all_to_all`] are the collective
//! operations of trainers, [`staleness`] bounds how far asynchronous trainers are apart. [`updates`] runs the blocks of the
//! program on what arrives, [`tables`] holds hashed embedding tables. [`failure_detector`] notices trainers whose heartbeats stopped;
//! [`snapshot`] writes checkpoints while training goes on; [`log`] keeps what a server needs to go on when its process was killed.

pub(crate) mod all_gather;
mod all_to_all;
mod call;
mod changed_rows;
mod events;
mod evict;
mod failure_detector;
mod host;
mod listen;
mod log;
mod lr_schedule;
mod options;
mod pre_images;
pub(crate) mod read;
mod reply;
mod row_limit;
mod session;
mod snapshot;
mod staleness;
pub mod step_barrier;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
mod unauthenticated;
mod updates;
mod wait_report;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_exec::{ExecOptions, ExecState, Scope, SharedProfile};
use oarlock_ir::{Error, Kind, Program, Result, Runtime};
use oarlock_net::spawn;
use oarlock_net::{Listener, now};
use parking_lot::{Condvar, Mutex, RwLock};
use tracing::{info, warn};

use all_gather::AllGather;
use all_to_all::AllToAll;
pub(crate) use call::Call;
use changed_rows::ChangedRows;
use evict::LastEviction;
pub use host::{is_server, serve};
pub use log::LogOptions;
use log::{LogFolder, ServerLog};
pub use options::ServerOptions;
use pre_images::PreImages;
use snapshot::Snapshots;
pub use staleness::Staleness;
use staleness::StalenessBound;
pub use step_barrier::Policy;
use step_barrier::StepBarrier;
use unauthenticated::Unauthenticated;
pub use updates::ServerMode;
use updates::Updates;

use crate::checkpoint::steps_before;
use crate::request::hello::ServerIdentity;

/// The counters of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Complete steps of synchronous training.
    pub steps: u64,
    /// Pushes that were accepted.
    pub pushes: u64,
    /// Duplicate pushes, which were acknowledged and not applied again.
    pub duplicates: u64,
    /// Lookups of rows that came as requests of their own, not with a push.
    pub lookups: u64,
    /// How old the gradients of asynchronous trainers were.
    pub staleness: Staleness,
}

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    endpoint: String,
}

/// The state that all threads of a server share.
pub(crate) struct Shared {
    pub(crate) updates: Updates,
    pub(crate) options: ServerOptions,
    pub(crate) state: Mutex<State>,
    /// Held while a push is applied at once; a snapshot falls between pushes.
    pub(crate) fence: RwLock<()>,
    /// Notified when a step is complete, a trainer leaves, or the job fails.
    pub(crate) changed: Condvar,
    pub(crate) stop: AtomicBool,
    pub(crate) pushes: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) lookups: AtomicU64,
    /// The last push of each stream that was applied.
    pub(crate) applied: Mutex<HashMap<Stream, Arc<Applied>>>,
    pub(crate) changed_rows: ChangedRows,
    pre_images: PreImages,
    pub(crate) last_eviction: LastEviction,
    unauthenticated: Unauthenticated,
    /// Records requests, with the operators of updates.
    profile: Option<SharedProfile>,
    pub(crate) identity: ServerIdentity,
    /// Set when the server is restored from it: what is replayed is not logged again.
    pub(crate) log: OnceLock<ServerLog>,
}

/// The last push of a stream that was applied.
#[derive(Default)]
pub(crate) struct Applied {
    /// Locked while a push is applied, so that a retry over a new connection waits for the first and is recognized as its duplicate.
    pub(crate) busy: Mutex<()>,
    /// The sequence number of the last one.
    pub(crate) last: AtomicU64,
}

impl Applied {
    fn after(last: u64) -> Applied {
        Applied { busy: Mutex::new(()), last: AtomicU64::new(last) }
    }
}

/// Requests that follow each other: trainer, incarnation, number of the stream.
type Stream = (u32, u64, u32);

pub(crate) struct State {
    pub(crate) step_barrier: StepBarrier,
    pub(crate) all_to_all: AllToAll,
    pub(crate) staleness: StalenessBound,
    /// Barriers and other all-gathers of trainers outside of steps.
    pub(crate) all_gather: AllGather,
    /// All-gathers in the middle of a step, among the trainers that take part in it.
    pub(crate) step_all_gather: AllGather,
    snapshots: Snapshots,
    /// The positions of trainers in their data.
    pub(crate) notifications: BTreeMap<u32, Arc<Vec<u8>>>,
    /// The process of each trainer, and the time of its last request or heartbeat.
    pub(crate) seen: Vec<Option<(u64, Instant)>>,
    /// How many connections each process of a trainer has.
    pub(crate) connections: HashMap<(u32, u64), usize>,
    /// When the first trainer joined: the others must join within the deadline.
    begun: Option<Instant>,
    /// Since when no trainer is here although the job has begun.
    deserted: Option<Instant>,
    /// Why the job cannot go on.
    pub(crate) failed: Option<Error>,
    finished: bool,
}

impl State {
    fn new(steps: u64, trainers: usize, policy: Policy) -> State {
        State {
            step_barrier: StepBarrier::after(steps, trainers, policy),
            all_to_all: AllToAll::new(trainers),
            staleness: StalenessBound::new(trainers),
            all_gather: AllGather::default(),
            step_all_gather: AllGather::default(),
            snapshots: Snapshots::default(),
            notifications: BTreeMap::new(),
            seen: vec![None; trainers],
            connections: HashMap::new(),
            begun: None,
            deserted: None,
            failed: None,
            finished: false,
        }
    }

    /// The all-gathers in steps, or the others.
    pub(crate) fn all_gather(&mut self, in_step: bool) -> &mut AllGather {
        if in_step { &mut self.step_all_gather } else { &mut self.all_gather }
    }

    /// The trainers that have not contributed to the all-gather under way.
    pub(crate) fn missing(&self, in_step: bool, of: usize) -> Vec<usize> {
        let is_active = |t: usize, incarnation: u64| self.step_barrier.rejection(t, incarnation).is_none();
        match in_step {
            true => self.step_all_gather.missing(|t| self.step_barrier.is_awaited(t), is_active, of),
            false => self.all_gather.missing(|t| self.step_barrier.is_awaited_at_barrier(t), is_active, of),
        }
    }
}

impl Server {
    /// Starts to serve a program whose startup program has run in `scope`.
    pub fn start(
        program: &Program,
        scope: &Scope,
        exec: &ExecOptions,
        runtime: &Arc<Runtime>,
        options: ServerOptions,
    ) -> Result<Server> {
        let mut options = options;
        let folder = log_folder(program, exec, &options)?;
        // What was set in the scope before is of no matter to a server that goes on.
        let saved = folder.as_ref().map(|folder| folder.load_variables(scope)).transpose()?.flatten();
        let updates = Updates::new(program, scope, exec, runtime)?;
        if options.fingerprint.is_empty() {
            options.fingerprint.clone_from(&updates.fingerprint);
        }
        let at = options.endpoint.clone().unwrap_or_else(|| updates.endpoint.clone());
        options.net.lets_read = true;
        // Trainers find no server before it has all that it acknowledged.
        let early = if folder.is_none() { Some(Listener::bind(&at, &options.net)?) } else { None };
        let trainers = updates.trainers;
        let state = State::new(steps_before(scope), trainers, options.policy);
        let identity = identity(updates.number(), folder.as_ref());
        let shared = Arc::new(Shared {
            changed_rows: ChangedRows::new(trainers),
            pre_images: PreImages::new(options.policy == Policy::Wait),
            last_eviction: LastEviction::default(),
            unauthenticated: Unauthenticated::new(early.as_ref().map_or(&at, Listener::endpoint)),
            profile: ExecState::of(runtime).profile(),
            updates,
            state: Mutex::new(state),
            fence: RwLock::new(()),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            pushes: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            applied: Mutex::default(),
            identity,
            log: OnceLock::new(),
            options,
        });
        if let (Some(folder), Some(options)) = (folder, &shared.options.log) {
            shared.open_log(folder, saved.as_deref(), options)?;
        }
        let listener = early.map_or_else(|| Listener::bind(&at, &shared.options.net), Ok)?;
        let endpoint = listener.endpoint().to_string();
        info!(role = "server", endpoint = endpoint.as_str(), "server {endpoint} waits for {trainers} trainers");
        let threads = vec![
            spawn("oarlock-accept", "a server", {
                let s = shared.clone();
                move || s.accept(&listener)
            })?,
            spawn("oarlock-watch", "a server", {
                let s = shared.clone();
                move || s.detect_failures()
            })?,
        ];
        Ok(Server { shared, threads, endpoint })
    }

    /// The endpoint that it listens on.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits until every trainer has left, the job fails, or `interrupted` says so.
    pub fn wait(mut self, interrupted: impl Fn() -> bool) -> Result<Summary> {
        let mut state = self.shared.state.lock();
        if state.finished && self.shared.identity.epoch > 1 {
            // It was killed when the last trainer left, which may not have the reply yet and leaves again.
            let until = now() + FAILED_LINGER;
            while !interrupted() && !self.shared.changed.wait_until(&mut state, until).timed_out() {}
        }
        while !state.finished && state.failed.is_none() {
            if interrupted() {
                drop(state);
                self.end();
                return Err(Error::new(Kind::Interrupted, "the server was interrupted"));
            }
            self.shared.changed.wait_for(&mut state, Duration::from_millis(100));
        }
        let failed = state.failed.clone();
        if failed.is_some() {
            // A trainer that computes gets the error only with its next request.
            let until = now() + FAILED_LINGER;
            while state.step_barrier.active() > 0 && !self.shared.changed.wait_until(&mut state, until).timed_out() {}
        }
        drop(state);
        self.end();
        let summary = self.shared.summary();
        let how = if failed.is_some() { "stops after an error" } else { "is done" };
        let (endpoint, Summary { steps, pushes, duplicates, .. }) = (self.endpoint.as_str(), &summary);
        info!(
            role = "server",
            endpoint,
            step = steps,
            "server {endpoint} {how}: {steps} steps, {pushes} pushes, {duplicates} of them duplicates"
        );
        if summary.staleness.pushes > 0 {
            info!(role = "server", endpoint, "server {endpoint}: {}", summary.staleness);
        }
        self.shared.updates.tables.report().for_each(|line| info!(role = "server", endpoint, "{line}"));
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(log) = self.shared.log.get()
            && let Err(e) = log.delete()
        {
            warn!(role = "server", endpoint, "the log of the job, which is done, stays: {e}");
        }
        Ok(summary)
    }

    /// Its counters so far.
    pub fn summary(&self) -> Summary {
        self.shared.summary()
    }

    /// Stops all threads.
    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(log) = self.shared.log.get() {
            log.stop();
        }
        self.shared.changed.notify_all();
        let writers = self.shared.state.lock().snapshots.take_threads();
        for thread in self.threads.drain(..).chain(writers) {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
        self.shared.unauthenticated.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long a server whose job failed stays, so that trainers receive the error.
const FAILED_LINGER: Duration = Duration::from_secs(5);

/// The identity of a server: that of its log, or a new one.
fn identity(number: Option<u32>, folder: Option<&LogFolder>) -> ServerIdentity {
    let (lineage, epoch) =
        folder.map_or_else(|| (oarlock_net::nonce(), 1), |folder| (folder.lineage.clone(), folder.epoch));
    ServerIdentity { number, lineage, epoch, has_log: folder.is_some() }
}

/// The folder of the server's log, if it is to keep one.
fn log_folder(program: &Program, exec: &ExecOptions, options: &ServerOptions) -> Result<Option<LogFolder>> {
    let Some(log) = &options.log else { return Ok(None) };
    let (number, _) = updates::place(program, exec)?;
    let listed = updates::endpoint(program)?;
    let server = number.map_or_else(|| options.endpoint.clone().unwrap_or(listed.to_string()), |n| n.to_string());
    let (job, fingerprint) = (options.net.job.as_str(), updates::fingerprint(program)?);
    LogFolder::claim(log, &log::Owner { job, server: &server, fingerprint }).map(Some)
}

impl Shared {
    /// The last push of a stream.
    pub(crate) fn stream(&self, stream: Stream) -> Arc<Applied> {
        self.applied.lock().entry(stream).or_default().clone()
    }

    /// The sequence number of the last push of a stream that was applied.
    pub(crate) fn last_applied(&self, stream: Stream) -> u64 {
        self.applied.lock().get(&stream).map_or(0, |applied| applied.last.load(Ordering::Acquire))
    }

    fn summary(&self) -> Summary {
        let state = self.state.lock();
        Summary {
            steps: state.step_barrier.done(),
            staleness: state.staleness.stats(),
            pushes: self.pushes.load(Ordering::Relaxed),
            duplicates: self.duplicates.load(Ordering::Relaxed),
            lookups: self.lookups.load(Ordering::Relaxed),
        }
    }
}
