//! A trainer's side of a cluster: what it sends to servers, asks of them, and how it leaves.
//!
//! Operators find the [`Client`] in their runtime. It connects when it is first used, shows every server that the trainer
//! is alive, repeats requests whose reply was lost, and gives up at a deadline with an error that names the server and
//! what was asked.

mod come_back;
mod cut;
mod exchange;
mod fetch;
mod inbox;
mod life;
mod meet;
mod pause;
mod peer;
mod rows;
mod shrink;
mod step;
mod tables;
mod trade;
mod wait;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oarlock_io::TableFiles;
use oarlock_ir::{Error, Kind, Result, Runtime};
use parking_lot::Mutex;

pub use crate::message::Stale;
pub use cut::CutRequest;
pub(crate) use fetch::{Fetch, Found, Question};
pub(crate) use inbox::Inbox;
use life::Life;
pub(crate) use peer::{Identity, Link, Peer, Request};
use rows::NO_ROW;
pub(crate) use rows::Route;
pub(crate) use step::Step;
pub(crate) use tables::Onlooker;
pub use tables::find_tables;
pub use trade::Partners;
use trade::Trades;
pub use wait::wait_for_servers;

use crate::message::{Leave, Lookup, Pull, ValueReader, ValueWriter, Welcome, decode_held, kind};
use oarlock_net::Log;
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Floats, Incoming, NetOptions, now};

/// How a trainer talks to servers.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Sockets.
    pub net: NetOptions,
    /// What the program is; servers of another refuse it. Empty: not compared.
    pub fingerprint: String,
    /// How long a request may take, the first connection and the wait for other trainers included.
    pub deadline: Duration,
    /// How long a server that was there may be unreachable.
    pub reconnect: Duration,
    /// How often a trainer shows that it is alive.
    pub heartbeat: Duration,
    /// How gradients, the parameters that come back and looked-up rows travel. What is saved always travels as it is.
    pub floats: Floats,
    /// How tables that servers keep by id are saved.
    pub tables: TableFiles,
    /// Set to make requests that wait give up; [`Client::of`] takes the runtime's.
    pub interrupted: Option<Arc<AtomicBool>>,
    /// Notes for whoever runs the job.
    pub log: Log,
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
            log: Log::stderr(),
        }
    }
}

impl ClientOptions {
    /// Those of a runtime; what interrupts its runs interrupts requests.
    pub fn of(runtime: &Runtime) -> ClientOptions {
        let options = runtime.get::<ClientOptions>().as_deref().cloned().unwrap_or_default();
        ClientOptions { interrupted: Some(runtime.stop_flag()), ..options }
    }

    fn check_interrupted(&self) -> Result<()> {
        match &self.interrupted {
            Some(flag) if flag.load(Ordering::Relaxed) => {
                Err(Error::new(Kind::Interrupted, "the run was interrupted while it waited for a server"))
            }
            _ => Ok(()),
        }
    }

    fn reconnect_until(&self, deadline: Instant) -> Instant {
        deadline.min(now() + self.reconnect)
    }
}

/// The servers of a job, for one trainer.
pub struct Client {
    options: ClientOptions,
    identity: Mutex<Identity>,
    peers: Mutex<BTreeMap<String, Arc<Peer>>>,
    /// What each thread is sending and receiving.
    steps: Mutex<HashMap<ThreadId, Arc<Mutex<Step>>>>,
    /// Complete steps of synchronous training.
    done: AtomicU64,
    /// Grows with everything that changes servers: what was fetched before is no longer what they hold.
    exchanges: AtomicU64,
    resumed: Mutex<bool>,
    /// Held by the thread that waits for the other trainers: a trainer is in one step, or one pause, at a time.
    barrier: Mutex<()>,
    /// How many pauses this process began.
    pauses: AtomicU64,
    /// Servers make steps without this trainer: a pause failed half way.
    away: AtomicBool,
    /// Steps were made without this trainer since it fetched parameters.
    behind: AtomicBool,
    /// How many meetings this process came to; held during one.
    meetings: Mutex<u64>,
    /// How often this process let servers shrink their tables; held meanwhile.
    shrinks: Mutex<u64>,
    /// What the program is; learned from the first program that asks.
    fingerprint: Mutex<String>,
    trades: Mutex<Trades>,
    life: Life,
}

impl Client {
    /// A trainer that has not connected yet.
    pub fn new(options: ClientOptions) -> Client {
        let identity = Identity { trainer: 0, incarnation: incarnation(), looks: false };
        Client {
            life: Life::new(options.heartbeat, options.log.clone()),
            identity: Mutex::new(identity),
            peers: Mutex::default(),
            steps: Mutex::default(),
            done: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            resumed: Mutex::new(false),
            barrier: Mutex::new(()),
            pauses: AtomicU64::new(0),
            away: AtomicBool::new(false),
            behind: AtomicBool::new(false),
            meetings: Mutex::new(0),
            shrinks: Mutex::new(0),
            fingerprint: Mutex::new(options.fingerprint.clone()),
            trades: Mutex::default(),
            options,
        }
    }

    /// Somebody who only reads: no server counts it as a trainer.
    pub fn looking(options: ClientOptions) -> Client {
        let client = Client::new(options);
        client.identity.lock().looks = true;
        client
    }

    /// The client of a runtime; made when the first operator needs it, with the [`ClientOptions`] that the runtime has.
    pub fn of(runtime: &Runtime) -> Arc<Client> {
        let options = ClientOptions::of(runtime);
        runtime.get_or_provide(|| Client::new(options))
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

    /// What the calling thread is sending and receiving.
    pub(crate) fn step(&self) -> Arc<Mutex<Step>> {
        self.steps.lock().entry(std::thread::current().id()).or_default().clone()
    }

    /// The calling thread makes no more steps: what it kept from step to step is let go.
    pub fn thread_done(&self) {
        self.steps.lock().remove(&std::thread::current().id());
    }

    /// Lets go of memory that waits for variables like those that came before: whoever fetched all parameters, and will not again.
    pub(crate) fn trim(&self) {
        self.steps.lock().values().filter_map(|step| step.try_lock()).for_each(|mut step| step.inbox.trim());
        self.peers.lock().values().for_each(|peer| peer.trim());
    }

    fn peer(&self, endpoint: &str, trainer: u32) -> Arc<Peer> {
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
        if !identity.looks {
            self.life.watch(&peer, self.options.deadline);
        }
        peer
    }

    fn deadline(&self) -> Instant {
        now() + self.options.deadline
    }

    /// Asks all servers, once, how far this trainer came before: a process that comes back goes on from there.
    pub(crate) fn resume(&self, trainer: u32, servers: &[String], fingerprint: &str) -> Result<()> {
        let mut resumed = self.resumed.lock();
        if *resumed {
            if self.away.load(Ordering::Acquire) {
                self.goes_on_after(self.come_back(trainer, servers)?);
            }
            return Ok(());
        }
        if self.fingerprint.lock().is_empty() {
            fingerprint.clone_into(&mut self.fingerprint.lock());
        }
        let welcomes = servers.iter().map(|server| self.welcome(server, trainer)).collect::<Result<Vec<Welcome>>>()?;
        let done = match welcomes.iter().any(|welcome| welcome.back) {
            true => self.come_back(trainer, servers)?,
            false => welcomes.iter().map(|welcome| welcome.pushed).min().unwrap_or(0),
        };
        self.done.store(done, Ordering::Release);
        *resumed = true;
        Ok(())
    }

    /// What a server says to a new connection.
    fn welcome(&self, server: &str, trainer: u32) -> Result<Welcome> {
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        let request =
            Request { kind: kind::PING, meta: &[], sections: &[], about: &|| "its first connection".to_string() };
        let deadline = self.deadline();
        peer.begin(&mut link, &request, deadline)?;
        peer.finish(&mut link, &request, deadline)?;
        let welcome = link.welcome.unwrap_or(Welcome { pushed: 0, back: false });
        peer.give_back(link);
        Ok(welcome)
    }

    /// Sends a request to one server, and reads its reply.
    fn ask_one<T>(
        &self,
        trainer: u32,
        server: &str,
        request: &Request<'_>,
        read: impl FnOnce(&Incoming) -> Result<T>,
    ) -> Result<T> {
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        let deadline = self.deadline();
        peer.begin(&mut link, request, deadline)?;
        peer.finish(&mut link, request, deadline)?;
        let result = read(&link.reply);
        peer.give_back(link);
        result
    }

    /// Sends all requests, then reads all replies.
    fn ask_all(
        &self,
        trainer: u32,
        requests: &[(&str, u16, Writer, ValueWriter<'_>)],
        about: &dyn Fn() -> String,
        mut read: impl FnMut(usize, &Incoming) -> Result<()>,
    ) -> Result<()> {
        let deadline = self.deadline();
        let mut under_way: Vec<(Arc<Peer>, Link)> = Vec::new();
        for (endpoint, kind, meta, values) in requests {
            let peer = self.peer(endpoint, trainer);
            let mut link = peer.take();
            let request = Request { kind: *kind, meta: meta.as_bytes(), sections: values.sections(), about };
            peer.begin(&mut link, &request, deadline)?;
            under_way.push((peer, link));
        }
        for (i, ((peer, mut link), (_, kind, meta, values))) in under_way.into_iter().zip(requests).enumerate() {
            let request = Request { kind: *kind, meta: meta.as_bytes(), sections: values.sections(), about };
            peer.finish(&mut link, &request, deadline)?;
            read(i, &link.reply)?;
            peer.give_back(link);
        }
        Ok(())
    }

    /// Fetches variables now, each from its server.
    pub(crate) fn pull(&self, trainer: u32, names: &[(String, String)], into: &mut Inbox) -> Result<()> {
        self.pull_from(trainer, by_server(names), None, into)
    }

    /// Fetches rows of tables that changed since the last time, of each table as many as fit into so many bytes. They are read where they
    /// arrived: who takes them drops them before the next request, or its reply needs other memory.
    pub(crate) fn pull_changed(
        &self,
        trainer: u32,
        names: &[(String, String)],
        bytes: u64,
        into: &mut Inbox,
    ) -> Result<()> {
        self.pull_from(trainer, by_server(names), Some(bytes), into)
    }

    /// Fetches everything that is wanted.
    pub(crate) fn pull_wanted(&self, trainer: u32, wants: &Wants, into: &mut Inbox) -> Result<()> {
        self.pull_from(trainer, wants.clone(), None, into)
    }

    fn pull_from(&self, trainer: u32, wants: Wants, changed_only: Option<u64>, into: &mut Inbox) -> Result<()> {
        let mut requests = Vec::new();
        for (endpoint, names) in &wants {
            let mut meta = Writer::new();
            Pull { after_step: self.as_of(), changed_only, names: names.clone() }.encode(&mut meta);
            requests.push((endpoint.as_str(), kind::PULL, meta, ValueWriter::default()));
        }
        let about = || about_names("", wants.values().flatten().map(String::as_str), self.done());
        self.ask_all(trainer, &requests, &about, |_, reply| read_values(reply, into, changed_only.is_some()).map(drop))
    }

    /// A trainer that comes back asks for values as they were before the step that it repeats.
    fn as_of(&self) -> u64 {
        let repeats = *self.resumed.lock() && !self.identity.lock().looks;
        if repeats { self.done() } else { u64::MAX }
    }

    /// Fetches rows of tables now: those of each question.
    pub(crate) fn look_up(&self, trainer: u32, asked: &[Question<'_>]) -> Result<Vec<Found>> {
        let (read_only, floats) = (self.identity.lock().looks, self.options.floats);
        let mut by_server: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (k, question) in asked.iter().enumerate() {
            by_server.entry(question.server).or_default().push(k);
        }
        let mut requests = Vec::new();
        for (server, of) in &by_server {
            let mut meta = Writer::new();
            let tables = of.iter().map(|k| asked[*k].table.to_string()).collect();
            Lookup { after_step: self.as_of(), read_only, floats, tables }.encode(&mut meta);
            let ids = of.iter().map(|k| bytemuck::cast_slice(asked[*k].ids)).collect();
            requests.push((*server, kind::LOOKUP, meta, ValueWriter::of_sections(ids)));
        }
        let about = || about_names("rows of table ", asked.iter().map(|question| question.table), self.done());
        let of_request: Vec<&Vec<usize>> = by_server.values().collect();
        let mut found: Vec<Found> = asked.iter().map(|_| Found::default()).collect();
        self.ask_all(trainer, &requests, &about, |server, reply| {
            let held = decode_held(&mut Reader::new(reply.meta(), "a message"))?;
            for (at, k) in of_request[server].iter().enumerate() {
                found[*k] = Found::new(reply, at, floats, held.get(at).copied().unwrap_or(0))?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Tells every server that this trainer is done.
    pub fn leave(&self) -> Result<()> {
        self.life.stop();
        let peers: Vec<Arc<Peer>> = std::mem::take(&mut *self.peers.lock()).into_values().collect();
        let mut meta = Writer::new();
        Leave { steps: self.done() }.encode(&mut meta);
        let request =
            Request { kind: kind::LEAVE, meta: meta.as_bytes(), sections: &[], about: &|| "its leave".to_string() };
        let mut first = Ok(());
        for peer in peers.iter().filter(|_| !self.identity.lock().looks) {
            let deadline = now() + LEAVE_PATIENCE;
            let mut link = peer.take();
            let told =
                peer.begin(&mut link, &request, deadline).and_then(|()| peer.finish(&mut link, &request, deadline));
            if first.is_ok() {
                first = told;
            }
        }
        // Whoever comes again after that is another to the servers.
        self.identity.lock().incarnation = incarnation();
        first
    }

    /// Breaks all connections without a word: what servers see when a process is killed. For tests of such losses.
    pub fn abandon(&self) {
        self.life.stop();
        self.peers.lock().clear();
        self.steps.lock().clear();
    }

    /// Is there anything to leave?
    pub fn is_connected(&self) -> bool {
        !self.peers.lock().is_empty()
    }
}

/// How long a server may take to hear that a trainer leaves.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

impl Drop for Client {
    fn drop(&mut self) {
        if !self.is_connected() || self.identity.lock().looks {
            return;
        }
        if std::thread::panicking() {
            self.options.log.line("this trainer ends in a panic: for its servers it is lost");
            self.abandon();
        } else {
            self.options.log.line("warning: this trainer ends without `exe.close()`; it leaves its servers now");
            // There is nobody left who could act on an error.
            let _ = self.leave();
        }
    }
}

/// What a request was about, in an error: the first of the names, and after which step if steps are counted.
fn about_names<'a>(what: &str, names: impl Iterator<Item = &'a str>, done: u64) -> String {
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
fn two_at_once() -> Error {
    Error::new(Kind::Unsupported, "two threads of one trainer wait for the other trainers, in a step or in a barrier")
        .help("train with one thread, or through fleet, whose communicator lets the threads of a trainer meet")
}

/// What a trainer wants from each server.
pub(crate) type Wants = BTreeMap<String, Vec<String>>;

/// Names of variables, each given with its server, together for each server.
fn by_server(names: &[(String, String)]) -> Wants {
    let mut wants = Wants::new();
    for (endpoint, name) in names {
        wants.entry(endpoint.clone()).or_default().push(name.clone());
    }
    wants
}

/// Lays the values of a reply into an inbox; with `lent` they are read where they are, and to be dropped before the next request.
/// Returns the first section that is none of theirs, and how many rows the tables have whose rows follow.
fn read_values(reply: &Incoming, into: &mut Inbox, lent: bool) -> Result<(usize, Vec<u64>)> {
    let mut meta = Reader::new(reply.meta(), "a message");
    let mut values = ValueReader::new(reply, &mut meta)?;
    while let Some(name) = values.next(&mut meta)? {
        match lent {
            true => values.lent(&mut meta, into.arrive(name))?,
            false => values.value(&mut meta, into.arrive(name))?,
        }
    }
    Ok((values.sections_read(), decode_held(&mut meta)?))
}

/// Grows from process to process with one number: the time of its start.
fn incarnation() -> u64 {
    wall_clock().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}

#[expect(clippy::disallowed_methods, reason = "tells processes apart that were started one after the other")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}
