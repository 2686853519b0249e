//! The client of a trainer: its connections to servers, its heartbeats, and its requests ([`crate::request`] has a method for each).
//!
//! Operators find the [`Client`] in their runtime. It connects when it is first used, sends heartbeats to every server, retries requests
//! whose reply was lost ([`peer`]), and gives up at a deadline with an error that names the server and the request. In a step, `send`
//! queues gradients in [`step`]; `send_barrier`, or the last `send` of a program without one, pushes everything for one server as one
//! message, to all servers at once. The reply has the parameters for the next `recv`: one exchange per server and step. Where the next
//! batch is known, its ids travel with the push, and its rows are prefetched ([`row_fetch`]).

mod peer;
mod read_only;
mod received;
mod row_fetch;
mod row_plan;
mod step;
mod wait;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oarlock_io::TableFiles;
use oarlock_ir::{Error, Kind, Result, Runtime};
use parking_lot::Mutex;
use tracing::{info, warn};

pub use crate::request::all_to_all::TrainerGroup;
pub use crate::request::evict::Stale;
pub(crate) use crate::request::pull::WantedVars;
pub use crate::request::snapshot::SnapshotRequest;
pub(crate) use peer::{Identity, Link, Peer, Request};
pub(crate) use read_only::ReadOnlyClient;
pub use read_only::find_tables;
pub(crate) use received::{ReceivedVars, read_values};
pub(crate) use row_fetch::{FoundRows, RowFetch, RowRequest};
use row_plan::NO_ROW;
pub(crate) use row_plan::Route;
pub(crate) use step::Step;
pub use wait::wait_for_servers;

use crate::PsState;
use crate::protocol::{Message, RequestDef, ValueWriter};
use crate::request::all_to_all::Exchanges;
use crate::request::heartbeat::{self, Heartbeat};
use crate::request::hello::Welcome;
use oarlock_net::codec::Writer;
use oarlock_net::{Floats, Incoming, NetOptions, now};

/// How a trainer talks to servers.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Sockets.
    pub net: NetOptions,
    /// The fingerprint of the program; servers of another refuse it. Empty: not compared.
    pub fingerprint: String,
    /// How long a request may take, the first connection and the wait for other trainers included.
    pub deadline: Duration,
    /// How long a server that was there may be unreachable.
    pub reconnect: Duration,
    /// The time between heartbeats.
    pub heartbeat: Duration,
    /// The form in which gradients, pulled parameters and looked-up rows are sent. Variables to be saved are never rounded.
    pub floats: Floats,
    /// The layout of saved hashed tables.
    pub tables: TableFiles,
    /// Set to make requests that wait give up; [`Client::of`] takes the runtime's.
    pub interrupted: Option<Arc<AtomicBool>>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            net: NetOptions::default(),
            fingerprint: String::new(),
            deadline: Duration::from_secs(180),
            reconnect: Duration::from_secs(20),
            heartbeat: Duration::from_millis(500),
            floats: Floats::F32,
            tables: TableFiles::default(),
            interrupted: None,
        }
    }
}

impl ClientOptions {
    /// Those of a runtime; what interrupts its runs interrupts requests.
    pub fn of(runtime: &Runtime) -> ClientOptions {
        let options = PsState::of(runtime).options().unwrap_or_default();
        ClientOptions { interrupted: Some(runtime.stop_flag()), ..options }
    }

    pub(crate) fn check_interrupted(&self) -> Result<()> {
        match &self.interrupted {
            Some(flag) if flag.load(Ordering::Relaxed) => {
                Err(Error::new(Kind::Interrupted, "the run was interrupted while it waited for a server"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn reconnect_until(&self, deadline: Instant) -> Instant {
        deadline.min(now() + self.reconnect)
    }
}

/// The servers of a job, for one trainer.
pub struct Client {
    pub(crate) options: ClientOptions,
    pub(crate) identity: Mutex<Identity>,
    pub(crate) peers: Mutex<BTreeMap<String, Arc<Peer>>>,
    /// The values that each thread is sending and receiving.
    steps: Mutex<HashMap<ThreadId, Arc<Mutex<Step>>>>,
    /// Complete steps of synchronous training.
    pub(crate) done: AtomicU64,
    /// Grows with every change of the servers: values that were fetched before are no longer those that they hold.
    pub(crate) exchanges: AtomicU64,
    resumed: Mutex<bool>,
    /// Held by the thread that waits for the other trainers: a trainer is in one step, or one pause, at a time.
    pub(crate) barrier: Mutex<()>,
    /// How many pauses this process began.
    pub(crate) pauses: AtomicU64,
    /// Servers make steps without this trainer: a pause failed half way.
    pub(crate) left_out: AtomicBool,
    /// Steps were made without this trainer since it fetched parameters.
    pub(crate) behind: AtomicBool,
    /// How many all-gathers this process took part in; held during one.
    pub(crate) all_gathers: Mutex<u64>,
    /// How many evictions this process asked for; held meanwhile.
    pub(crate) evictions: Mutex<u64>,
    /// The fingerprint of the program; learned from the first program that asks.
    fingerprint: Mutex<String>,
    pub(crate) trainer_exchanges: Mutex<Exchanges>,
    pub(crate) heartbeat: Heartbeat,
}

impl Client {
    /// A trainer that has not connected yet.
    pub fn new(options: ClientOptions) -> Client {
        let identity = Identity { trainer: 0, incarnation: incarnation(), read_only: false };
        Client {
            heartbeat: Heartbeat::new(options.heartbeat),
            identity: Mutex::new(identity),
            peers: Mutex::default(),
            steps: Mutex::default(),
            done: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            resumed: Mutex::new(false),
            barrier: Mutex::new(()),
            pauses: AtomicU64::new(0),
            left_out: AtomicBool::new(false),
            behind: AtomicBool::new(false),
            all_gathers: Mutex::new(0),
            evictions: Mutex::new(0),
            fingerprint: Mutex::new(options.fingerprint.clone()),
            trainer_exchanges: Mutex::default(),
            options,
        }
    }

    /// A client that only reads: no server counts it as a trainer.
    pub fn read_only(options: ClientOptions) -> Client {
        let client = Client::new(options);
        client.identity.lock().read_only = true;
        client
    }

    /// The client of a runtime; made when the first operator needs it, with the [`ClientOptions`] that the runtime has.
    pub fn of(runtime: &Runtime) -> Arc<Client> {
        let options = ClientOptions::of(runtime);
        PsState::of(runtime).client_or_make(|| Client::new(options))
    }

    /// Steps of synchronous training that this trainer completed, those of an earlier process with its number included.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Bytes that a frame may have.
    pub(crate) fn max_frame(&self) -> u64 {
        self.options.net.max_frame
    }

    /// How often this process has changed servers.
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::Acquire)
    }

    /// The values that the calling thread is sending and receiving.
    pub(crate) fn step(&self) -> Arc<Mutex<Step>> {
        self.steps.lock().entry(std::thread::current().id()).or_default().clone()
    }

    /// The calling thread makes no more steps: what it kept from step to step is let go.
    pub fn thread_done(&self) {
        self.steps.lock().remove(&std::thread::current().id());
    }

    /// Frees memory that waits for variables like those that came before: after all parameters were fetched for the last time.
    pub(crate) fn trim(&self) {
        self.steps.lock().values().filter_map(|step| step.try_lock()).for_each(|mut step| step.received.trim());
        self.peers.lock().values().for_each(|peer| peer.trim());
    }

    pub(crate) fn peer(&self, endpoint: &str, trainer: u32) -> Arc<Peer> {
        let mut identity = self.identity.lock();
        let mut peers = self.peers.lock();
        if peers.is_empty() {
            identity.trainer = trainer;
        }
        let make = || {
            let options = ClientOptions { fingerprint: self.fingerprint.lock().clone(), ..self.options.clone() };
            Arc::new(Peer::new(endpoint, *identity, &options))
        };
        let peer = peers.entry(endpoint.to_string()).or_insert_with(make).clone();
        if !identity.read_only {
            self.heartbeat.start(&peer, self.options.deadline);
        }
        peer
    }

    pub(crate) fn deadline(&self) -> Instant {
        now() + self.options.deadline
    }

    /// Asks all servers, once, for the last step of this trainer: a process that rejoins continues from there.
    pub(crate) fn resume(&self, trainer: u32, servers: &[String], fingerprint: &str) -> Result<()> {
        let mut resumed = self.resumed.lock();
        if *resumed {
            if self.left_out.load(Ordering::Acquire) {
                self.continue_after(self.rejoin(trainer, servers)?);
            }
            return Ok(());
        }
        if self.fingerprint.lock().is_empty() {
            fingerprint.clone_into(&mut self.fingerprint.lock());
        }
        let welcomes = servers.iter().map(|server| self.welcome(server, trainer)).collect::<Result<Vec<Welcome>>>()?;
        let done = match welcomes.iter().any(|welcome| welcome.must_rejoin) {
            true => self.rejoin(trainer, servers)?,
            false => welcomes.iter().map(|welcome| welcome.pushed).min().unwrap_or(0),
        };
        self.done.store(done, Ordering::Release);
        *resumed = true;
        Ok(())
    }

    /// The welcome of a server to a new connection.
    fn welcome(&self, server: &str, trainer: u32) -> Result<Welcome> {
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        let about = || "its first connection".to_string();
        let request = Request { kind: heartbeat::REQUEST.kind, meta: &[], sections: &[], about: &about };
        peer.ask(&mut link, &request, self.deadline())?;
        let welcome = link.welcome.clone().unwrap_or_default();
        peer.give_back(link);
        Ok(welcome)
    }

    /// Sends a request to one server, and reads its reply.
    pub(crate) fn ask_one<T>(
        &self,
        trainer: u32,
        server: &str,
        request: &Request<'_>,
        read: impl FnOnce(&Incoming) -> Result<T>,
    ) -> Result<T> {
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        peer.ask(&mut link, request, self.deadline())?;
        let result = read(&link.reply);
        peer.give_back(link);
        result
    }

    /// Sends a request that is nothing but a message to one server, and reads its reply.
    pub(crate) fn ask<T>(
        &self,
        trainer: u32,
        server: &str,
        request: &RequestDef,
        message: &impl Message,
        about: &dyn Fn() -> String,
        read: impl FnOnce(&Incoming) -> Result<T>,
    ) -> Result<T> {
        let meta = message.to_meta();
        let request = Request { kind: request.kind, meta: meta.as_bytes(), sections: &[], about };
        self.ask_one(trainer, server, &request, read)
    }

    /// Sends a request to several servers, then reads all replies.
    pub(crate) fn ask_all(
        &self,
        trainer: u32,
        request: &RequestDef,
        messages: &[(&str, Writer, ValueWriter<'_>)],
        about: &dyn Fn() -> String,
        mut read: impl FnMut(usize, &Incoming) -> Result<()>,
    ) -> Result<()> {
        let (deadline, kind) = (self.deadline(), request.kind);
        let mut under_way: Vec<(Arc<Peer>, Link, Request<'_>)> = Vec::new();
        for (endpoint, meta, values) in messages {
            let peer = self.peer(endpoint, trainer);
            let mut link = peer.take();
            let request = Request { kind, meta: meta.as_bytes(), sections: values.sections(), about };
            peer.begin(&mut link, &request, deadline)?;
            under_way.push((peer, link, request));
        }
        for (i, (peer, mut link, request)) in under_way.into_iter().enumerate() {
            peer.finish(&mut link, &request, deadline)?;
            read(i, &link.reply)?;
            peer.give_back(link);
        }
        Ok(())
    }

    /// A trainer that rejoins asks for values as they were before the step that it repeats.
    pub(crate) fn as_of(&self) -> u64 {
        let repeats = *self.resumed.lock() && !self.identity.lock().read_only;
        if repeats { self.done() } else { u64::MAX }
    }

    /// Breaks all connections, as when a process is killed. For tests of such losses.
    pub fn abandon(&self) {
        self.heartbeat.stop();
        self.peers.lock().clear();
        self.steps.lock().clear();
    }

    /// Is there anything to leave?
    pub fn is_connected(&self) -> bool {
        !self.peers.lock().is_empty()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let Identity { trainer: rank, read_only, .. } = *self.identity.lock();
        if !self.is_connected() || read_only {
            return;
        }
        if std::thread::panicking() {
            info!(role = "trainer", rank, "this trainer ends in a panic: for its servers it is lost");
            self.abandon();
        } else {
            warn!(role = "trainer", rank, "this trainer ends without `exe.close()`; it leaves its servers now");
            // No caller is left that could act on an error.
            let _ = self.leave();
        }
    }
}

/// The subject of a request, for an error: the first of the names, and after which step if steps are counted.
pub(crate) fn about_names<'a>(what: &str, names: impl Iterator<Item = &'a str>, done: u64) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let more = match names.len() {
        0..=3 => String::new(),
        all => format!(" and {} more", all - 3),
    };
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    let when = if done > 0 { format!(", after step {done}") } else { String::new() };
    format!("{what}{}{more}{when}", shown.join(", "))
}

#[cold]
pub(crate) fn two_at_once() -> Error {
    Error::new(Kind::Unsupported, "two threads of one trainer wait for the other trainers, in a step or in a barrier")
        .help("train with one thread, or through fleet, whose communicator joins the steps of a trainer's threads")
}

/// Grows from process to process with one number: the time of its start.
pub(crate) fn incarnation() -> u64 {
    wall_clock().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}

#[expect(clippy::disallowed_methods, reason = "tells processes apart that were started one after the other")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}
