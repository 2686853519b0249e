//! Rendezvous: the ranks of a job find each other and form a group.
//!
//! All ranks connect to a coordinator: rank 0, or in a group that is formed again the first rank that is left. The coordinator
//! compares versions, settings and programs, and refuses all with one error if they differ. Then all ranks map the shared memory
//! of their machine and connect to each other as the engine needs it (see `routes`).
//!
//! ```text
//! rank        -> JOIN     description: version, machine, program, ...
//! coordinator -> TABLE    the descriptions of all ranks            | REFUSED why
//! rank        -> MAPPED   shared memory usable? process number in MPI
//! coordinator -> PLAN     usable by all? process numbers of all
//! rank        -> LINKED   connections are made
//! coordinator -> GO
//! ```

mod listener;
mod rank_info;
mod routes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Closer, Conn, Incoming, Outgoing, Received, is_bound, now};
use oarlock_sys::SharedMemory;
use tracing::{debug, info, warn};

use crate::engine::{Engine, shared_memory};
use crate::group::GroupOptions;
use crate::rejoin::find_coordinator;
use listener::{FOR_JOIN, RendezvousListener};
pub(crate) use listener::{FOR_REJOIN, Hello};
pub(crate) use rank_info::programs_differ;
use rank_info::{RankInfo, differs, host, read_process, write_process};

const JOIN: u16 = 1;
const TABLE: u16 = 2;
const MAPPED: u16 = 3;
const PLAN: u16 = 4;
const LINKED: u16 = 5;
const GO: u16 = 6;
const REFUSED: u16 = 7;

/// How long the coordinator may take to accept a connection where a group is formed again; then it counts as dead.
const ANSWER: Duration = Duration::from_secs(10);

/// Probing an expected rank: the limit of one attempt, the pause between two, and how long it must not have listened to count as dead.
/// A rank on its way from the old group to the new does not listen for a moment; a busy one accepts nothing, and its backlog is
/// finite.
const PROBE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(500);
const DEAD: Duration = Duration::from_secs(2);

/// How often a waiting rank checks its deadline, and how often it logs which ranks it waits for.
const POLL: Duration = Duration::from_millis(50);
const REPORT: Duration = Duration::from_secs(5);

type Id = [u8; 16];

/// A group that has been formed.
pub(crate) struct Formed {
    pub(crate) engine: Box<dyn Engine>,
    /// Connections from the coordinator to all others, or from another rank to the coordinator.
    pub(crate) control: Vec<(usize, Conn)>,
    pub(crate) memory: Option<Arc<SharedMemory>>,
    pub(crate) closers: Vec<Closer>,
    /// The way of values, for people.
    pub(crate) route: &'static str,
    /// The ranks in the group, ascending.
    pub(crate) ranks: Vec<usize>,
    /// The coordinator.
    pub(crate) coordinator: usize,
}

/// The ranks that are expected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// All of the job; rank 0 coordinates.
    All,
    /// These ranks of the old group, of which the first coordinates, and ranks that rejoin. After a while the group is formed
    /// without those that are missing.
    These(Vec<usize>),
    /// This rank rejoins: the coordinator is found by asking.
    Rejoin,
}

/// Forms the group; all of its ranks call this.
pub(crate) fn form(options: &GroupOptions, expected: &Expected) -> Result<Formed> {
    let until = now() + options.deadline;
    let memory = options.uses_memory().then(|| SharedMemory::create(shared_memory::size(options.endpoints.len())));
    // Without shared memory values go through sockets.
    let memory = memory.and_then(std::io::Result::ok).map(Arc::new);
    let mark = fresh_id()?;
    if let Some(memory) = &memory {
        shared_memory::mark(memory, &mark);
    }
    let own = RankInfo {
        rank: options.rank,
        version: env!("CARGO_PKG_VERSION").to_string(),
        endpoints: options.endpoints.clone(),
        settings: options.settings(),
        program: options.program.clone(),
        host: options.machine.clone().unwrap_or_else(host),
        process: std::process::id(),
        file: memory.as_ref().map_or(-1, |memory| memory.file()),
        mark,
    };
    let listener = RendezvousListener::open(options)?;
    let (coordinator, wanted) = match expected {
        Expected::All => (0, (0..options.endpoints.len()).collect()),
        Expected::These(ranks) => (ranks.first().copied().unwrap_or(0), ranks.clone()),
        Expected::Rejoin => (usize::MAX, Vec::new()),
    };
    let grace = matches!(expected, Expected::These(_)).then(|| now() + options.deadline / 2);
    let mut rendezvous =
        Rendezvous { options, until, listener, memory, own, coordinator, wanted, grace, reached: false };
    let formed = match options.rank == coordinator {
        true => rendezvous.coordinate(),
        false => rendezvous.follow_until_accepted(*expected == Expected::Rejoin),
    }?;
    debug!(rank = options.rank, "group of ranks {:?} over {}", formed.ranks, formed.route);
    Ok(formed)
}

struct Rendezvous<'a> {
    coordinator: usize,
    /// The ranks that should join.
    wanted: Vec<usize>,
    /// When the group is formed without missing ranks.
    grace: Option<Instant>,
    /// Whether the coordinator has accepted a connection.
    reached: bool,
    options: &'a GroupOptions,
    until: Instant,
    listener: RendezvousListener,
    memory: Option<Arc<SharedMemory>>,
    own: RankInfo,
}

impl Rendezvous<'_> {
    /// The coordinator's part.
    fn coordinate(&mut self) -> Result<Formed> {
        let mut conns = BTreeMap::new();
        let formed = self.coordinate_all(&mut conns);
        if let Err(e) = &formed {
            let mut meta = Writer::new();
            meta.str(&e.report().what).str(e.report().help.as_deref().unwrap_or_default());
            for conn in conns.values_mut() {
                // A rank that is gone needs no reason.
                let _ = send(conn, REFUSED, &meta, self.until);
            }
        }
        formed.map(|formed| Formed { control: conns.into_iter().collect(), ..formed })
    }

    fn coordinate_all(&mut self, conns: &mut BTreeMap<usize, Conn>) -> Result<Formed> {
        let table = self.gather(conns)?;
        let id = fresh_id()?;
        let mut meta = Writer::new();
        meta.bytes(&id).list(&table, |to, info| info.encode(to));
        self.send_all(conns, TABLE, &meta)?;
        let near = self.map(&table);
        let (mut mapped, mut processes) = (near.is_ok(), vec![self.process()?]);
        self.receive_all(conns, MAPPED, |meta| {
            mapped &= meta.bool()?;
            processes.push(read_process(meta)?);
            Ok(())
        })?;
        let mut meta = Writer::new();
        meta.bool(mapped).list(&processes, write_process);
        let routes = self.routes(near.ok().flatten(), mapped, processes, id)?;
        self.send_all(conns, PLAN, &meta)?;
        let formed = self.connect(&table, routes)?;
        self.receive_all(conns, LINKED, |_| Ok(()))?;
        self.send_all(conns, GO, &Writer::new())?;
        Ok(formed)
    }

    /// Waits until all expected ranks have joined, and compares them.
    fn gather(&mut self, conns: &mut BTreeMap<usize, Conn>) -> Result<Vec<RankInfo>> {
        let mut table = BTreeMap::from([(self.own.rank, self.own.clone())]);
        let (mut reported, mut probed, mut refused) = (now(), now(), BTreeMap::new());
        while self.wanted.iter().any(|rank| !table.contains_key(rank)) {
            if self.grace.is_some_and(|grace| now() > grace) {
                break;
            }
            if let Ok((info, conn)) = self.listener.joins.recv_timeout(POLL) {
                let (rank, peer) = (info.rank, conn.peer().to_owned());
                let fault = differs(&self.own, &info);
                let twice = table.insert(rank, info).is_some();
                conns.insert(rank, conn);
                if twice {
                    let what = format!("two processes are rank {rank}; the second is {peer}");
                    return Err(Error::new(Kind::Argument, what).help("give every process its own PADDLE_TRAINER_ID"));
                }
                fault.map_or(Ok(()), Err)?;
                continue;
            }
            if self.grace.is_some() && now() > probed + PAUSE {
                probed = now();
                let mut wanted = std::mem::take(&mut self.wanted);
                wanted.retain(|rank| table.contains_key(rank) || self.may_join(*rank, &mut refused));
                self.wanted = wanted;
            }
            let missing = || self.wanted.iter().copied().filter(|rank| !table.contains_key(rank));
            self.check_time(|| missing().map(|rank| self.name(rank)).collect::<Vec<_>>().join(", "))?;
            if now() > reported + REPORT {
                reported = now();
                let names: Vec<String> = missing().map(|rank| self.name(rank)).collect();
                info!(rank = self.own.rank, "rank {} waits for {}", self.own.rank, names.join(", "));
            }
        }
        Ok(table.into_values().collect())
    }

    /// Can an expected rank still join? A live one listens, even if it is busy. `refused` holds since when each does not.
    fn may_join(&self, rank: usize, refused: &mut BTreeMap<usize, Instant>) -> bool {
        if is_bound(&self.options.endpoints[rank], &self.options.net, now() + PROBE) {
            refused.remove(&rank);
            return true;
        }
        let dead = now() > *refused.entry(rank).or_insert_with(now) + DEAD;
        if dead {
            let peer = self.name(rank);
            warn!(rank = self.own.rank, peer, "{peer} does not listen any more: it is lost, too");
        }
        !dead
    }

    /// Follows a coordinator. In a group that is formed again the coordinator may not know yet that it is one: then it accepts the
    /// connection, but not the rank. Tries until it does, or does not listen any more.
    fn follow_until_accepted(&mut self, rejoin: bool) -> Result<Formed> {
        loop {
            if rejoin {
                self.check_time(|| "any other rank".to_string())?;
                self.coordinator = find_coordinator(self.options).ok_or_else(|| self.no_rank_left())?;
            }
            self.reached = false;
            self.options.check_unfinished()?;
            // If all ranks were started again, each waits for rank 0, and checks whether the job is over.
            let again = self.options.elastic && self.options.rejoins && !rejoin;
            let again_formed = rejoin || self.grace.is_some();
            match self.follow(again_formed || again) {
                Err(e) if again && e.kind() == Kind::Network && !self.reached && now() < self.until => {}
                // It listened a moment ago. Another rank may coordinate now, or none is left.
                Err(e) if rejoin && e.kind() == Kind::Network && !self.reached => {}
                Err(e)
                    if again_formed
                        && e.kind() == Kind::Network
                        && now() < self.until
                        && self.coordinator_listens() =>
                {
                    std::thread::sleep(POLL);
                }
                formed => return formed,
            }
        }
    }

    /// The error of a restarted rank that finds none of the others.
    fn no_rank_left(&self) -> Error {
        let what = format!("rank {} was started again, and no other rank is left", self.options.rank);
        Error::new(Kind::Network, format!("{what}: they have finished, or died"))
            .help("there is nothing to join; start the job anew if it failed")
    }

    /// Is the coordinator alive? If it is busy, it listens, but does not answer.
    fn coordinator_listens(&self) -> bool {
        self.reached || is_bound(&self.options.endpoints[self.coordinator], &self.options.net, now() + PROBE)
    }

    /// The part of all ranks but the coordinator.
    fn follow(&mut self, again: bool) -> Result<Formed> {
        let net = self.options.net_for(FOR_JOIN, &[0; 16]);
        let coordinator = self.coordinator;
        let missing = |e: Error| e.note(format!("rank {} looks for rank {coordinator} there", self.options.rank));
        let patience = if again { self.until.min(now() + ANSWER) } else { self.until };
        let mut conn = Conn::connect(&self.options.endpoints[coordinator], &net, patience).map_err(missing)?;
        self.reached = true;
        let mut meta = Writer::new();
        self.own.encode(&mut meta);
        send(&mut conn, JOIN, &meta, self.until)?;
        let (id, table) = self.receive(coordinator, &mut conn, TABLE, |meta| {
            Ok((meta.bytes()?.to_vec(), meta.list(RankInfo::decode)?))
        })?;
        let id: Id = id.try_into().map_err(|_| Error::new(Kind::Format, "the id of a group has 16 bytes"))?;
        let near = self.map(&table);
        let mut meta = Writer::new();
        meta.bool(near.is_ok());
        write_process(&mut meta, &self.process()?);
        send(&mut conn, MAPPED, &meta, self.until)?;
        let (mapped, processes) =
            self.receive(coordinator, &mut conn, PLAN, |meta| Ok((meta.bool()?, meta.list(read_process)?)))?;
        let routes = self.routes(near.ok().flatten(), mapped, processes, id)?;
        let formed = self.connect(&table, routes)?;
        send(&mut conn, LINKED, &Writer::new(), self.until)?;
        self.receive(coordinator, &mut conn, GO, |_| Ok(()))?;
        Ok(Formed { control: vec![(coordinator, conn)], ..formed })
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} ({})", self.options.endpoints[rank])
    }

    /// Fails if the deadline is over, or the run is to stop.
    fn check_time(&self, missing: impl Fn() -> String) -> Result<()> {
        self.options.check_unfinished()?;
        if self.options.interrupted.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Error::new(Kind::Interrupted, "the run was interrupted while it waited for other ranks"));
        }
        if now() < self.until {
            return Ok(());
        }
        let what = format!(
            "not all {} ranks joined within {:.0} s: {} did not",
            self.options.endpoints.len(),
            self.options.deadline.as_secs_f64(),
            missing()
        );
        let late =
            Error::new(Kind::Network, what).help("look at their logs; every rank must run the same startup program");
        Err(self.listener.errors.explain(late))
    }

    fn send_all(&self, conns: &mut BTreeMap<usize, Conn>, kind: u16, meta: &Writer) -> Result<()> {
        conns.iter_mut().try_for_each(|(rank, conn)| {
            send(conn, kind, meta, self.until).map_err(|e| e.note(format!("it is {}", self.name(*rank))))
        })
    }

    fn receive_all(
        &self,
        conns: &mut BTreeMap<usize, Conn>,
        kind: u16,
        mut read: impl FnMut(&mut Reader<'_>) -> Result<()>,
    ) -> Result<()> {
        conns.iter_mut().try_for_each(|(rank, conn)| self.receive(*rank, conn, kind, &mut read))
    }

    /// Waits for a frame of this kind from a rank.
    fn receive<T>(
        &self,
        rank: usize,
        conn: &mut Conn,
        kind: u16,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut frame = Incoming::new();
        loop {
            match conn.recv(&mut frame, self.until.min(now() + POLL))? {
                Received::Frame => break,
                Received::TimedOut => self.check_time(|| self.name(rank))?,
                Received::Closed => {
                    let what = format!("{} ended while the group was being formed", self.name(rank));
                    return Err(Error::new(Kind::Network, what).help("look at the log of that process"));
                }
            }
        }
        let mut meta = Reader::new(frame.meta(), "a message of a rank");
        match frame.kind() {
            got if got == kind => read(&mut meta),
            REFUSED => {
                let (what, help) = (meta.str()?.to_owned(), meta.str()?.to_owned());
                Err(Error::new(Kind::Argument, what).help(help))
            }
            got => Err(Error::new(Kind::Format, format!("{} sent message {got}, {kind} is expected", self.name(rank)))),
        }
    }
}

fn send(conn: &mut Conn, kind: u16, meta: &Writer, until: Instant) -> Result<()> {
    conn.send(&Outgoing { kind, id: 0, meta: meta.as_bytes(), sections: &[] }, until)
}

fn fresh_id() -> Result<Id> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|e| Error::internal(format!("the system has no random numbers: {e}")))?;
    Ok(id)
}
