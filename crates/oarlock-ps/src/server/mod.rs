//! A parameter server: it listens, keeps the parameters that its program says, and ends when every trainer has left.
//!
//! Each connection has a thread ([`session`]); [`round`] decides when a step is complete; [`updates`] does what the blocks
//! of the program say. A watch thread notices trainers that fell silent.

mod changes;
mod cut;
mod limit;
mod meeting;
mod pace;
mod previous;
mod rates;
pub mod round;
mod session;
mod shrink;
mod strangers;
mod tables;
mod trades;
mod updates;
mod waits;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_exec::{ExecOptions, Executor, ProgramHost, Scope, SharedProfile};
use oarlock_ir::{Error, Kind, Program, Result, Runtime};
use oarlock_tensor::Value;
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use changes::Changes;
use cut::Cuts;
use meeting::Meetings;
use pace::Pace;
pub use pace::Staleness;
use previous::Previous;
pub use round::Policy;
use round::{Effect, Event, Failure, Round};
use session::{End, Session};
use shrink::LastCall;
use strangers::Strangers;
use trades::Trades;
pub use updates::ServerMode;
use updates::Updates;
use waits::{Reminder, Waits};

use crate::checkpoint::steps_before;
use crate::message::{Hello, Purpose};
use oarlock_net::Log;
use oarlock_net::spawn;
use oarlock_net::{Closer, Conn, Listener, NetOptions, now};

/// How a server works, besides what its program says.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; the program's endpoint if not given. Port 0 takes a free one.
    pub endpoint: Option<String>,
    /// Sockets.
    pub net: NetOptions,
    /// What the program is; trainers of another are refused. Empty: not compared.
    pub fingerprint: String,
    /// What happens when a trainer is lost.
    pub policy: Policy,
    /// How long a step may wait for a trainer.
    pub deadline: Duration,
    /// After how long without a sign of life a trainer is lost whose connection stands: it is stopped, or its machine is too busy.
    pub silence: Duration,
    /// Keep serving when every trainer has left.
    pub stay: bool,
    /// Notes for whoever runs the job.
    pub log: Log,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            endpoint: None,
            net: NetOptions::default(),
            fingerprint: String::new(),
            policy: Policy::Fail,
            deadline: Duration::from_secs(180),
            silence: Duration::from_secs(20),
            stay: false,
            log: Log::stderr(),
        }
    }
}

/// What a server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Complete steps of synchronous training.
    pub steps: u64,
    /// Pushes that were taken.
    pub pushes: u64,
    /// Pushes that were there already.
    pub repeats: u64,
    /// Questions for rows of tables that came by themselves, not with a push.
    pub lookups: u64,
    /// How old the gradients of trainers were that do not wait for each other.
    pub staleness: Staleness,
}

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    endpoint: String,
}

/// What all threads of a server see.
struct Shared {
    updates: Updates,
    options: ServerOptions,
    state: Mutex<State>,
    /// Held while a push is applied at once; a cut falls between pushes.
    fence: RwLock<()>,
    /// Notified when a step is complete, somebody leaves, or the job fails.
    changed: Condvar,
    stop: AtomicBool,
    pushes: AtomicU64,
    repeats: AtomicU64,
    lookups: AtomicU64,
    /// The last push of each stream that was applied. A stream is locked while one of its pushes is applied, so that a
    /// repeat over a new connection waits for the first and is known again.
    applied: Mutex<HashMap<Stream, Arc<Mutex<u64>>>>,
    changes: Changes,
    previous: Previous,
    last_shrink: LastCall,
    strangers: Strangers,
    /// Where requests are recorded, with the operators of updates.
    profile: Option<Arc<SharedProfile>>,
}

/// Requests that follow each other: trainer, incarnation, number of the stream.
type Stream = (u32, u64, u32);

struct State {
    round: Round,
    trades: Trades,
    pace: Pace,
    /// Barriers and what else trainers do together outside of steps.
    meetings: Meetings,
    /// What those that take part in a step do together in the middle of it.
    in_step: Meetings,
    cuts: Cuts,
    /// Where trainers said they stand.
    notes: BTreeMap<u32, Vec<u8>>,
    /// When each trainer was last heard of.
    seen: Vec<Option<(u64, Instant)>>,
    /// The connections of each trainer's process, by their numbers.
    connections: HashMap<(u32, u64), usize>,
    /// When the first trainer came: the others must come within the deadline.
    begun: Option<Instant>,
    /// Since when no trainer is here although the job has begun.
    deserted: Option<Instant>,
    /// Why the job cannot go on.
    failed: Option<Error>,
    finished: bool,
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
        let updates = Updates::new(program, scope, exec, runtime)?;
        let mut options = options;
        if options.fingerprint.is_empty() {
            options.fingerprint.clone_from(&updates.fingerprint);
        }
        let at = options.endpoint.clone().unwrap_or_else(|| updates.endpoint.clone());
        options.net.lets_read = true;
        let listener = Listener::bind(&at, &options.net)?;
        let endpoint = listener.endpoint().to_string();
        let trainers = updates.trainers;
        let state = State {
            round: Round::after(steps_before(scope), trainers, options.policy),
            trades: Trades::new(trainers),
            pace: Pace::new(trainers),
            meetings: Meetings::default(),
            in_step: Meetings::default(),
            cuts: Cuts::default(),
            notes: BTreeMap::new(),
            seen: vec![None; trainers],
            connections: HashMap::new(),
            begun: None,
            deserted: None,
            failed: None,
            finished: false,
        };
        let shared = Arc::new(Shared {
            changes: Changes::new(trainers),
            previous: Previous::new(options.policy == Policy::Wait),
            last_shrink: LastCall::default(),
            strangers: Strangers::new(options.log.clone()),
            profile: runtime.get(),
            updates,
            state: Mutex::new(state),
            fence: RwLock::new(()),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            pushes: AtomicU64::new(0),
            repeats: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            applied: Mutex::default(),
            options,
        });
        shared.options.log.line(format!("server {endpoint} waits for {trainers} trainers"));
        let threads = vec![
            spawn("oarlock-accept", "a server", {
                let s = shared.clone();
                move || s.accept(&listener)
            })?,
            spawn("oarlock-watch", "a server", {
                let s = shared.clone();
                move || s.watch()
            })?,
        ];
        Ok(Server { shared, threads, endpoint })
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits until every trainer has left, the job fails, or `interrupted` says so.
    pub fn wait(mut self, interrupted: impl Fn() -> bool) -> Result<Summary> {
        let mut state = self.shared.state.lock();
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
            // A trainer that computes hears why only when it asks next.
            let until = now() + LAST_WORDS;
            while state.round.here() > 0 && !self.shared.changed.wait_until(&mut state, until).timed_out() {}
        }
        drop(state);
        self.end();
        let summary = self.shared.summary();
        let how = if failed.is_some() { "stops after an error" } else { "is done" };
        self.shared.options.log.line(format!(
            "server {} {how}: {} steps, {} pushes, {} of them repeated",
            self.endpoint, summary.steps, summary.pushes, summary.repeats
        ));
        if summary.staleness.pushes > 0 {
            self.shared.options.log.line(format!("server {}: {}", self.endpoint, summary.staleness));
        }
        self.shared.updates.tables.report().for_each(|line| self.shared.options.log.line(line));
        match failed {
            Some(error) => Err(error),
            None => Ok(summary),
        }
    }

    /// What it did so far.
    pub fn summary(&self) -> Summary {
        self.shared.summary()
    }

    /// Stops all threads.
    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.changed.notify_all();
        let writers = self.shared.state.lock().cuts.take_threads();
        for thread in self.threads.drain(..).chain(writers) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
        self.shared.strangers.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long a server whose job failed stays to tell trainers why.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Connections at a time. Trainers have some dozens each at most; whoever opens more must not use up the machine.
const MAX_CONNECTIONS: usize = 8192;

/// How long a server waits after it could accept no connection: usually for a file to be closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How often a server looks for trainers that fell silent.
const WATCH_EVERY: Duration = Duration::from_millis(200);

/// How long a trainer whose connection was closed may take to come back before it is lost.
const GRACE: Duration = Duration::from_secs(1);

/// The same if its machine could not be reached for a while already.
const SHORT_GRACE: Duration = Duration::from_millis(600);

/// A connection that is being served.
struct Open {
    thread: JoinHandle<()>,
    closer: Closer,
    /// Set when the peer has said who it is.
    known: Arc<AtomicBool>,
}

impl Shared {
    fn accept(self: &Arc<Shared>, listener: &Listener) {
        let mut sessions: Vec<Open> = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            match listener.accept(&self.stop) {
                Ok(Some(conn)) => self.serve(conn, &mut sessions),
                Ok(None) => {}
                Err(e) => {
                    self.strangers.turned_away("whoever connects", &e.report().what, now());
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
            sessions.retain(|session| !session.thread.is_finished());
        }
        // Nobody waits for a peer that has not said who it is.
        sessions.iter().filter(|session| !session.known.load(Ordering::Acquire)).for_each(|s| s.closer.close());
        for session in sessions {
            // A session that panicked has said so already.
            let _ = session.thread.join();
        }
    }

    fn serve(self: &Arc<Shared>, conn: Conn, sessions: &mut Vec<Open>) {
        if sessions.len() >= MAX_CONNECTIONS {
            let why = format!("{MAX_CONNECTIONS} are connected");
            self.strangers.turned_away(conn.peer(), &why, now());
            return;
        }
        let (shared, closer, known) = (self.clone(), conn.closer(), Arc::<AtomicBool>::default());
        let session = Session::new(shared, conn, known.clone());
        match spawn("oarlock-session", "a connection", move || session.run()) {
            Ok(thread) => sessions.push(Open { thread, closer, known }),
            Err(e) => self.strangers.turned_away("a trainer", &e.report().what, now()),
        }
    }

    fn watch(&self) {
        let mut reminder = Reminder::new(now());
        let mut state = self.state.lock();
        while !self.stop.load(Ordering::Acquire) {
            let now = now();
            for trainer in 0..state.seen.len() {
                if let Some((incarnation, seen)) = state.seen[trainer]
                    && now.saturating_duration_since(seen) > self.options.silence
                {
                    state.seen[trainer] = None;
                    self.note(&mut state, Event::Lose { trainer, incarnation });
                }
            }
            self.strangers.look(now);
            self.look_for_absent(&mut state);
            self.look_for_desertion(&mut state);
            if state.failed.is_none() && !state.finished {
                let waits = Waits::of(&state.round, self.updates.mode);
                let lines = reminder.look(&waits, now);
                lines.iter().for_each(|line| self.options.log.line(format!("server {} {line}", self.updates.endpoint)));
            }
            self.changed.wait_for(&mut state, WATCH_EVERY);
        }
    }

    /// Once a trainer is here, the others must come within the deadline.
    fn look_for_absent(&self, state: &mut MutexGuard<'_, State>) {
        let expected = state.round.expected();
        if expected.is_empty() {
            return;
        }
        let begun = *state.begun.get_or_insert_with(now);
        if begun.elapsed() > self.options.deadline {
            for trainer in expected {
                self.note(state, Event::Absent { trainer });
            }
        }
    }

    /// A job that has begun cannot be without trainers for longer than the deadline.
    fn look_for_desertion(&self, state: &mut MutexGuard<'_, State>) {
        let alone = state.round.has_begun() && state.round.here() == 0;
        if !alone || state.finished || state.failed.is_some() || self.options.stay {
            state.deserted = None;
            return;
        }
        let since = *state.deserted.get_or_insert_with(now);
        if since.elapsed() > self.options.deadline {
            let seconds = self.options.deadline.as_secs();
            let what = format!("no trainer was at server {} for {seconds} s", self.updates.endpoint);
            state.failed =
                Some(Error::new(Kind::Timeout, what).help("see the trainers' logs, then start the job again"));
            self.changed.notify_all();
        }
    }

    /// A trainer gave a sign of life.
    fn seen(&self, trainer: u32, incarnation: u64) {
        let mut state = self.state.lock();
        if let Some(Some((of, seen))) = state.seen.get_mut(trainer as usize)
            && *of == incarnation
        {
            *seen = now();
        }
    }

    /// A trainer's connection ended. If it was the one by which it shows that it is alive, or its last: unless it comes back soon, it
    /// is lost.
    fn closed(&self, hello: &Hello, end: End) {
        let (trainer, incarnation) = (hello.trainer, hello.incarnation);
        let mut state = self.state.lock();
        let of = (trainer, incarnation);
        let left = state.connections.get_mut(&of).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            state.connections.remove(&of);
        }
        if left > 0 && hello.purpose != Purpose::Life {
            return;
        }
        let grace = if end == End::Closed { GRACE } else { SHORT_GRACE };
        let soon = now().checked_sub(self.options.silence.saturating_sub(grace));
        if let (Some(Some((of, seen))), Some(soon)) = (state.seen.get_mut(trainer as usize), soon)
            && *of == incarnation
        {
            *seen = soon.min(*seen);
        }
    }

    /// Takes note of an event and does what follows from it. The error is the sender's; a failure of the job is everybody's.
    fn note(&self, state: &mut MutexGuard<'_, State>, event: Event) -> Vec<Effect> {
        let effects = state.round.on(event);
        for effect in &effects {
            match effect {
                // Once the job has failed, trainers go because of that.
                Effect::Lost(_) if state.failed.is_some() => {}
                Effect::Lost(failure) => self.report_loss(&self.loss(state, failure)),
                Effect::Fail(failure) => {
                    let what = format!("{}, and the job cannot go on without it", self.loss(state, failure));
                    let help = match failure.came {
                        true => "see that trainer's log; OARLOCK_ON_LOSS=wait or shrink lets the others go on",
                        false => {
                            "was it started, with the endpoints of these servers? FLAGS_rpc_deadline (milliseconds) sets how long to wait"
                        }
                    };
                    state.failed.get_or_insert(Error::new(Kind::Network, what).help(help));
                }
                Effect::Finish if !self.options.stay => state.finished = true,
                Effect::Apply { .. } | Effect::Finish | Effect::Take | Effect::Repeat | Effect::Refuse(_) => {}
            }
        }
        self.apply(state, &effects);
        self.changed.notify_all();
        effects
    }

    /// Makes a step if one is complete.
    fn apply(&self, state: &mut MutexGuard<'_, State>, effects: &[Effect]) {
        let Some(of) = effects.iter().find_map(|e| if let Effect::Apply { of, .. } = e { Some(of) } else { None })
        else {
            return;
        };
        // A push that completes its own step is kept first; its session does that and then applies.
        if effects.contains(&Effect::Take) {
            return;
        }
        self.make_step(state, of);
    }

    fn make_step(&self, state: &mut MutexGuard<'_, State>, of: &[usize]) {
        self.previous.keep(&self.updates);
        if let Err(error) = self.updates.step(of) {
            let step = state.round.done();
            state.failed.get_or_insert(error.note(format!("in step {step} of server {}", self.updates.endpoint)));
        }
        self.changed.notify_all();
    }

    /// Where trainers wait for nobody, steps are not counted; what each of them pushed is.
    fn loss(&self, state: &State, failure: &Failure) -> String {
        let trainer = failure.trainer;
        match self.updates.mode {
            _ if !failure.came => format!("trainer {trainer} never came in {} s", self.options.deadline.as_secs()),
            ServerMode::Sync => failure.to_string(),
            ServerMode::Async | ServerMode::Geo => {
                format!("trainer {trainer} was lost after its push {}", state.pace.pushes(trainer))
            }
        }
    }

    fn report_loss(&self, loss: &str) {
        let then = match self.options.policy {
            Policy::Fail => "the job ends",
            Policy::Wait => "the others wait for its return",
            Policy::Shrink => "the others go on without it",
        };
        self.options.log.line(format!("{loss}; {then}"));
    }

    fn summary(&self) -> Summary {
        let state = self.state.lock();
        Summary {
            steps: state.round.done(),
            staleness: state.pace.staleness(),
            pushes: self.pushes.load(Ordering::Relaxed),
            repeats: self.repeats.load(Ordering::Relaxed),
            lookups: self.lookups.load(Ordering::Relaxed),
        }
    }

    /// Copies a variable of the server.
    fn copy(&self, name: &str, into: &mut Value) -> Result<()> {
        if self.updates.tables.copy(name, into)? {
            return Ok(());
        }
        let var = self.updates.scope.find(name).ok_or_else(|| self.no_variable(name))?;
        let value = var.read();
        if value.is_empty() {
            return Err(self.no_variable(name));
        }
        into.copy_from(&value).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))
    }

    fn no_variable(&self, name: &str) -> Error {
        Error::new(Kind::Missing, format!("server {} has no variable `{name}`", self.updates.endpoint))
            .help("run the server's startup program before its main program, with the programs of one transpiler")
    }
}

/// Serves when an executor is given a server's program: runs until every trainer has left.
pub struct ServerHost {
    options: ServerOptions,
}

impl ServerHost {
    /// With these options.
    pub fn new(options: ServerOptions) -> ServerHost {
        ServerHost { options }
    }
}

impl ProgramHost for ServerHost {
    fn hosts(&self, program: &Program) -> bool {
        updates::listen_op(program).is_ok()
    }

    fn run(&self, executor: &Executor, program: &Program, scope: &Scope) -> Result<()> {
        let runtime = executor.runtime();
        executor.with_shared_profile(|| {
            let server = Server::start(program, scope, executor.options(), runtime, self.options.clone())?;
            server.wait(|| runtime.stopping()).map(drop)
        })
    }
}
