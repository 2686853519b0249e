//! How workers find each other: all come to rank 0, which compares what they are; then they open shared memory and connections.
//!
//! ```text
//! worker -> JOIN     who it is, its machine, its program
//! rank 0 -> TABLE    all workers                              | REFUSED why
//! worker -> MAPPED   can it use the memory of its machine? which process of MPI is it?
//! rank 0 -> PLAN     can everybody? who is which process of MPI?
//! worker -> LINKED   it has its connections
//! rank 0 -> GO
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Queue, Sender as Arrivals, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::SharedMemory;
use tracing::{info, warn};

use crate::backend::Backend;
use crate::engine::hierarchical::Layered;
use crate::engine::message::{Wired, linked};
use crate::engine::shared_memory::{self as shared, Shared};
use crate::engine::transport::Tcp;
use crate::engine::{Alone, Engine};
use crate::group::GroupOptions;
use crate::listener::{Trouble, accept_all};
use crate::rejoin::find_first;
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::spawn;
use oarlock_net::{Closer, Conn, Incoming, Listener, NetOptions, Outgoing, Received, is_bound, now};

const JOIN: u16 = 1;
const TABLE: u16 = 2;
const MAPPED: u16 = 3;
const PLAN: u16 = 4;
const LINKED: u16 = 5;
const GO: u16 = 6;
const REFUSED: u16 = 7;

/// What a connection is for.
const FOR_JOIN: u8 = 1;
const FOR_LINK: u8 = 2;
pub(crate) const FOR_KNOCK: u8 = 3;

/// How long one who should decide has to answer where a group is formed anew; then it counts as dead.
const ANSWER: Duration = Duration::from_secs(10);

/// How long a worker that is expected has to show that it listens, how often it is tried, and how long it must not have listened to be
/// taken for dead. One that goes over from its old group to the new does not listen for a moment; one that is busy accepts nothing, and
/// the system keeps only so many attempts for it.
const PROBE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(500);
const DEAD: Duration = Duration::from_secs(2);

/// How often a worker that waits for others looks whether it should stop, and how often it says for whom it waits.
const LOOK: Duration = Duration::from_millis(50);
const SAY: Duration = Duration::from_secs(5);

type Id = [u8; 16];

/// A group that has been formed.
pub(crate) struct Formed {
    pub(crate) engine: Box<dyn Engine>,
    /// From rank 0 to all others, or from another to rank 0.
    pub(crate) control: Vec<(usize, Conn)>,
    pub(crate) memory: Option<Arc<SharedMemory>>,
    pub(crate) closers: Vec<Closer>,
    /// How values travel, for people.
    pub(crate) route: &'static str,
    /// Who has come, ascending.
    pub(crate) ranks: Vec<usize>,
    /// Who decides.
    pub(crate) first: usize,
}

/// Who is expected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// Everybody.
    All,
    /// These, who were there before, and whoever comes besides; the first of them decides. After a while it goes on without
    /// those who do not come.
    These(Vec<usize>),
    /// This process comes late: the worker that answers decides.
    Late,
}

/// What moves values over connections, if this worker has some, and what closes them.
type Connected = (Option<Box<dyn Engine>>, Vec<Closer>);

/// How the workers of a group reach each other.
struct Ways {
    /// The memory of this machine, if everybody can use that of theirs.
    memory: Option<Arc<SharedMemory>>,
    mapped: bool,
    /// Processes of MPI, by rank.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "what is told must be read"))]
    processes: BTreeMap<usize, usize>,
    id: Id,
}

/// What a worker says of itself.
#[derive(Debug, Clone, PartialEq)]
struct Member {
    rank: usize,
    version: String,
    endpoints: Vec<String>,
    /// What all must agree on, besides the program.
    settings: String,
    program: Vec<String>,
    host: String,
    process: u32,
    /// The file of the memory that it offers, and what marks it.
    file: i32,
    mark: Id,
}

impl Member {
    fn encode(&self, to: &mut Writer) {
        to.u32(self.rank as u32).str(&self.version).list(&self.endpoints, |to, endpoint| {
            to.str(endpoint);
        });
        to.str(&self.settings).list(&self.program, |to, line| {
            to.str(line);
        });
        to.str(&self.host).u32(self.process).i64(self.file.into()).bytes(&self.mark);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Member> {
        let text = |from: &mut Reader<'_>| from.str().map(str::to_owned);
        Ok(Member {
            rank: from.u32()? as usize,
            version: text(from)?,
            endpoints: from.list(text)?,
            settings: text(from)?,
            program: from.list(text)?,
            host: text(from)?,
            process: from.u32()?,
            file: from.i64()? as i32,
            mark: from.bytes()?.try_into().map_err(|_| Error::new(Kind::Format, "a mark has 16 bytes"))?,
        })
    }
}

/// Forms the group; all of its workers call this.
pub(crate) fn form(options: &GroupOptions, expected: &Expected) -> Result<Formed> {
    let until = now() + options.deadline;
    let memory = options.uses_memory().then(|| SharedMemory::create(shared::size(options.endpoints.len())));
    // Without shared memory values go through sockets.
    let memory = memory.and_then(std::io::Result::ok).map(Arc::new);
    let mark = fresh_id()?;
    if let Some(memory) = &memory {
        shared::mark(memory, &mark);
    }
    let own = Member {
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
    let reception = Reception::open(options)?;
    let (first, wanted) = match expected {
        Expected::All => (0, (0..options.endpoints.len()).collect()),
        Expected::These(ranks) => (ranks.first().copied().unwrap_or(0), ranks.clone()),
        Expected::Late => (usize::MAX, Vec::new()),
    };
    let grace = matches!(expected, Expected::These(_)).then(|| now() + options.deadline / 2);
    let mut forming = Forming { options, until, reception, memory, own, first, wanted, grace, reached: false };
    match options.rank == first {
        true => forming.lead(),
        false => forming.follow_until_let_in(*expected == Expected::Late),
    }
}

struct Forming<'a> {
    /// Who decides.
    first: usize,
    /// Who should come.
    wanted: Vec<usize>,
    /// When to go on without those who have not.
    grace: Option<Instant>,
    /// Did the one who decides answer?
    reached: bool,
    options: &'a GroupOptions,
    until: Instant,
    reception: Reception,
    memory: Option<Arc<SharedMemory>>,
    own: Member,
}

impl Forming<'_> {
    /// Rank 0's part.
    fn lead(&mut self) -> Result<Formed> {
        let mut conns = BTreeMap::new();
        let formed = self.lead_all(&mut conns);
        if let Err(e) = &formed {
            let mut meta = Writer::new();
            meta.str(&e.report().what).str(e.report().help.as_deref().unwrap_or_default());
            for conn in conns.values_mut() {
                // One that is gone need not be told.
                let _ = say(conn, REFUSED, &meta, self.until);
            }
        }
        formed.map(|formed| Formed { control: conns.into_iter().collect(), ..formed })
    }

    fn lead_all(&mut self, conns: &mut BTreeMap<usize, Conn>) -> Result<Formed> {
        let table = self.gather(conns)?;
        let id = fresh_id()?;
        let mut meta = Writer::new();
        meta.bytes(&id).list(&table, |to, member| member.encode(to));
        self.tell_all(conns, TABLE, &meta)?;
        let near = self.map(&table);
        let (mut mapped, mut processes) = (near.is_ok(), vec![self.process()?]);
        self.hear_all(conns, MAPPED, |meta| {
            mapped &= meta.bool()?;
            processes.push(read_process(meta)?);
            Ok(())
        })?;
        let mut meta = Writer::new();
        meta.bool(mapped).list(&processes, write_process);
        let ways = self.ways(near.ok().flatten(), mapped, processes, id)?;
        self.tell_all(conns, PLAN, &meta)?;
        let formed = self.connect(&table, ways)?;
        self.hear_all(conns, LINKED, |_| Ok(()))?;
        self.tell_all(conns, GO, &Writer::new())?;
        Ok(formed)
    }

    /// Waits until all have come, and compares them.
    fn gather(&mut self, conns: &mut BTreeMap<usize, Conn>) -> Result<Vec<Member>> {
        let mut table = BTreeMap::from([(self.own.rank, self.own.clone())]);
        let (mut said, mut probed, mut refused) = (now(), now(), BTreeMap::new());
        while self.wanted.iter().any(|rank| !table.contains_key(rank)) {
            if self.grace.is_some_and(|grace| now() > grace) {
                break;
            }
            if let Ok((member, conn)) = self.reception.joins.recv_timeout(LOOK) {
                let (rank, who) = (member.rank, conn.peer().to_owned());
                let fault = differs(&self.own, &member);
                let twice = table.insert(rank, member).is_some();
                conns.insert(rank, conn);
                if twice {
                    let what = format!("two processes say that they are rank {rank}; the second is {who}");
                    return Err(Error::new(Kind::Argument, what).help("give every process its own PADDLE_TRAINER_ID"));
                }
                fault.map_or(Ok(()), Err)?;
                continue;
            }
            if self.grace.is_some() && now() > probed + PAUSE {
                probed = now();
                let mut wanted = std::mem::take(&mut self.wanted);
                wanted.retain(|rank| table.contains_key(rank) || self.may_come(*rank, &mut refused));
                self.wanted = wanted;
            }
            let missing = || self.wanted.iter().copied().filter(|rank| !table.contains_key(rank));
            self.look(|| missing().map(|rank| self.name(rank)).collect::<Vec<_>>().join(", "))?;
            if now() > said + SAY {
                said = now();
                let names: Vec<String> = missing().map(|rank| self.name(rank)).collect();
                info!(rank = self.own.rank, "rank {} waits for {}", self.own.rank, names.join(", "));
            }
        }
        Ok(table.into_values().collect())
    }

    /// Can a worker that is expected still come? One that lives listens, even if it is busy. `refused` tells since when each does not.
    fn may_come(&self, rank: usize, refused: &mut BTreeMap<usize, Instant>) -> bool {
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

    /// Where a group is formed anew, the one who decides may not know yet: it answers, but lets nobody in. Tries until it does, or
    /// does not answer any more.
    fn follow_until_let_in(&mut self, late: bool) -> Result<Formed> {
        loop {
            if late {
                self.look(|| "any other".to_string())?;
                self.first = find_first(self.options).ok_or_else(|| self.nobody_left())?;
            }
            self.reached = false;
            self.options.check_unfinished()?;
            // Where all were started again, each waits for the first, and looks whether there is a reason to.
            let again = self.options.elastic && self.options.late && !late;
            let anew = late || self.grace.is_some();
            match self.follow(anew || again) {
                Err(e) if again && e.kind() == Kind::Network && !self.reached && now() < self.until => {}
                // It listened a moment ago. Another one may decide now, or nobody is left.
                Err(e) if late && e.kind() == Kind::Network && !self.reached => {}
                Err(e) if anew && e.kind() == Kind::Network && now() < self.until && self.first_is_there() => {
                    std::thread::sleep(LOOK);
                }
                formed => return formed,
            }
        }
    }

    /// A worker that was started again finds none of the others.
    fn nobody_left(&self) -> Error {
        let what = format!("rank {} was started again, and no other worker is left", self.options.rank);
        Error::new(Kind::Network, format!("{what}: they have finished, or died"))
            .help("there is nothing to join; start the job anew if it failed")
    }

    /// Does the one who decides live? It may be busy: then it listens, but does not answer.
    fn first_is_there(&self) -> bool {
        self.reached || is_bound(&self.options.endpoints[self.first], &self.options.net, now() + PROBE)
    }

    /// The part of all but rank 0.
    fn follow(&mut self, anew: bool) -> Result<Formed> {
        let net = self.options.net_for(FOR_JOIN, &[0; 16]);
        let first = self.first;
        let missing = |e: Error| e.note(format!("rank {} looks for rank {first} there", self.options.rank));
        let patience = if anew { self.until.min(now() + ANSWER) } else { self.until };
        let mut conn = Conn::connect(&self.options.endpoints[first], &net, patience).map_err(missing)?;
        self.reached = true;
        let mut meta = Writer::new();
        self.own.encode(&mut meta);
        say(&mut conn, JOIN, &meta, self.until)?;
        let (id, table) =
            self.hear(first, &mut conn, TABLE, |meta| Ok((meta.bytes()?.to_vec(), meta.list(Member::decode)?)))?;
        let id: Id = id.try_into().map_err(|_| Error::new(Kind::Format, "the id of a group has 16 bytes"))?;
        let near = self.map(&table);
        let mut meta = Writer::new();
        meta.bool(near.is_ok());
        write_process(&mut meta, &self.process()?);
        say(&mut conn, MAPPED, &meta, self.until)?;
        let (mapped, processes) =
            self.hear(first, &mut conn, PLAN, |meta| Ok((meta.bool()?, meta.list(read_process)?)))?;
        let ways = self.ways(near.ok().flatten(), mapped, processes, id)?;
        let formed = self.connect(&table, ways)?;
        say(&mut conn, LINKED, &Writer::new(), self.until)?;
        self.hear(first, &mut conn, GO, |_| Ok(()))?;
        Ok(Formed { control: vec![(first, conn)], ..formed })
    }

    /// The memory of this machine; none if this is the only worker on it, an error if it cannot be used.
    fn map(&self, table: &[Member]) -> Result<Option<Arc<SharedMemory>>> {
        let near: Vec<&Member> = table.iter().filter(|member| member.host == self.own.host).collect();
        if near.len() < 2 {
            return Ok(None);
        }
        let cannot = |why: String| Error::new(Kind::Io, format!("no shared memory: {why}"));
        let own = self.memory.clone().ok_or_else(|| cannot("switched off, or not on this system".into()))?;
        let first = near[0];
        if first.rank == self.own.rank {
            return Ok(Some(own));
        }
        let size = shared::size(self.options.endpoints.len());
        let memory = SharedMemory::open(first.process, first.file, size).map_err(|e| cannot(e.to_string()))?;
        if !shared::is_of(&memory, &first.mark) {
            return Err(cannot("another process has that number here".into()));
        }
        Ok(Some(Arc::new(memory)))
    }

    /// This rank, and which process of MPI it is; anything if MPI is not to be used.
    fn process(&self) -> Result<(usize, usize)> {
        let process = match self.options.backend {
            #[cfg(feature = "mpi")]
            Backend::Mpi => crate::engine::mpi::start(self.options)?,
            _ => 0,
        };
        Ok((self.options.rank, process))
    }

    /// What the workers have found out of how they reach each other.
    fn ways(
        &self,
        memory: Option<Arc<SharedMemory>>,
        mapped: bool,
        processes: Vec<(usize, usize)>,
        id: Id,
    ) -> Result<Ways> {
        #[cfg(feature = "mpi")]
        if self.options.backend == Backend::Mpi {
            crate::engine::mpi::check(&processes)?;
        }
        Ok(Ways { memory: memory.filter(|_| mapped), mapped, processes: processes.into_iter().collect(), id })
    }

    /// Makes the connections that the plan needs.
    fn connect(&mut self, table: &[Member], ways: Ways) -> Result<Formed> {
        let Ways { memory, mapped, .. } = &ways;
        let ranks: Vec<usize> = table.iter().map(|member| member.rank).collect();
        let hosts = hosts(table);
        let me = self.options.rank;
        let place = |rank: usize| ranks.iter().position(|r| *r == rank).unwrap_or(0);
        let near_place = |host: &[usize]| host.iter().position(|rank| *rank == me).unwrap_or(0);
        let mine = hosts.iter().find(|host| host.contains(&me)).cloned().unwrap_or_default();
        let near = || memory.clone().map(|memory| Shared::new(memory, mine.clone(), near_place(&mine)));
        let layered = *mapped && self.options.hierarchical && hosts.len() > 1 && hosts.len() < table.len();
        let (engine, closers, route): (Box<dyn Engine>, Vec<Closer>, &'static str) = match near() {
            Some(shared) if *mapped && hosts.len() == 1 && self.options.backend == Backend::Auto => {
                (Box::new(shared), Vec::new(), "shared memory")
            }
            _ if ranks.len() == 1 => (Box::new(Alone), Vec::new(), "nothing: one worker is left"),
            near if layered => {
                let firsts: Vec<usize> = hosts.iter().map(|host| host[0]).collect();
                let (far, closers) = match firsts.contains(&me) {
                    true => self.wire(firsts, &ways)?,
                    false => (None, Vec::new()),
                };
                let near = near.map(|near| Box::new(near) as Box<dyn Engine>);
                let places = hosts.iter().map(|host| host.iter().map(|rank| place(*rank)).collect()).collect();
                let layered = Layered::new(places, place(me), near, far);
                (Box::new(layered), closers, self.carrier().1)
            }
            _ => {
                let (engine, closers) = self.wire(ranks.clone(), &ways)?;
                let engine = engine.ok_or_else(|| Error::internal("there is nobody to connect to"))?;
                (engine, closers, self.carrier().0)
            }
        };
        let memory = ways.memory.filter(|_| route != self.carrier().0);
        Ok(Formed { engine, control: Vec::new(), memory, closers, route, ranks, first: self.first })
    }

    /// What carries messages, for people: alone, and between machines.
    fn carrier(&self) -> (&'static str, &'static str) {
        match self.options.backend {
            Backend::Mpi => ("MPI", "shared memory, then MPI between machines"),
            _ => ("TCP", "shared memory, then TCP between machines"),
        }
    }

    /// Connects this worker with those of `members` that it exchanges messages with: the higher rank connects.
    fn wire(&mut self, members: Vec<usize>, ways: &Ways) -> Result<Connected> {
        let id = &ways.id;
        #[cfg(feature = "mpi")]
        if self.options.backend == Backend::Mpi {
            let me = members.iter().position(|rank| *rank == self.options.rank).unwrap_or(0);
            let process = |rank: usize| (rank, ways.processes.get(&rank).copied().unwrap_or(rank));
            let members = members.into_iter().map(process).collect();
            let messages = crate::engine::mpi::Messages::new(self.options, members, me, id)?;
            return Ok((Some(Box::new(Wired::new(messages))), Vec::new()));
        }
        let me = members.iter().position(|rank| *rank == self.options.rank).unwrap_or(0);
        let partners: Vec<usize> = (0..members.len()).filter(|other| linked(me, *other, members.len())).collect();
        let mut conns = Vec::new();
        for place in partners.iter().copied().filter(|place| *place < me) {
            let endpoint = &self.options.endpoints[members[place]];
            let net = self.options.net_for(FOR_LINK, id);
            conns.push((place, Conn::connect(endpoint, &net, self.until)?));
        }
        let mut missing: Vec<usize> = partners.into_iter().filter(|place| *place > me).collect();
        while !missing.is_empty() {
            if let Ok((rank, group, conn)) = self.reception.links.recv_timeout(LOOK) {
                let place = members.iter().position(|member| *member == rank);
                if let Some(place) = place.filter(|place| group == *id && missing.contains(place)) {
                    missing.retain(|other| *other != place);
                    conns.push((place, conn));
                }
                continue;
            }
            self.look(|| missing.iter().map(|place| self.name(members[*place])).collect::<Vec<_>>().join(", "))?;
        }
        let closers = conns.iter().map(|(_, conn)| conn.closer()).collect();
        Ok((Some(Box::new(Wired::new(Tcp::new(members, me, conns)?))), closers))
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} ({})", self.options.endpoints[rank])
    }

    /// Fails if there is no time left, or the run is to stop.
    fn look(&self, missing: impl Fn() -> String) -> Result<()> {
        self.options.check_unfinished()?;
        if self.options.interrupted.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Error::new(Kind::Interrupted, "the run was interrupted while it waited for other workers"));
        }
        if now() < self.until {
            return Ok(());
        }
        let what = format!(
            "not all {} workers came within {:.0} s: {} did not",
            self.options.endpoints.len(),
            self.options.deadline.as_secs_f64(),
            missing()
        );
        let late =
            Error::new(Kind::Network, what).help("look at their logs; every worker must run the same startup program");
        Err(self.reception.trouble.explain(late))
    }

    fn tell_all(&self, conns: &mut BTreeMap<usize, Conn>, kind: u16, meta: &Writer) -> Result<()> {
        conns.iter_mut().try_for_each(|(rank, conn)| {
            say(conn, kind, meta, self.until).map_err(|e| e.note(format!("it is {}", self.name(*rank))))
        })
    }

    fn hear_all(
        &self,
        conns: &mut BTreeMap<usize, Conn>,
        kind: u16,
        mut read: impl FnMut(&mut Reader<'_>) -> Result<()>,
    ) -> Result<()> {
        conns.iter_mut().try_for_each(|(rank, conn)| self.hear(*rank, conn, kind, &mut read))
    }

    /// Waits for one of these frames from a worker.
    fn hear<T>(
        &self,
        rank: usize,
        conn: &mut Conn,
        kind: u16,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut frame = Incoming::new();
        loop {
            match conn.recv(&mut frame, self.until.min(now() + LOOK))? {
                Received::Frame => break,
                Received::TimedOut => self.look(|| self.name(rank))?,
                Received::Closed => {
                    let what = format!("{} ended while the workers were being joined", self.name(rank));
                    return Err(Error::new(Kind::Network, what).help("look at the log of that process"));
                }
            }
        }
        let mut meta = Reader::new(frame.meta(), "a message of a worker");
        match frame.kind() {
            got if got == kind => read(&mut meta),
            REFUSED => {
                let (what, help) = (meta.str()?.to_owned(), meta.str()?.to_owned());
                Err(Error::new(Kind::Argument, what).help(help))
            }
            got => Err(Error::new(Kind::Format, format!("{} said {got}, {kind} is expected", self.name(rank)))),
        }
    }
}

fn write_process(to: &mut Writer, (rank, process): &(usize, usize)) {
    to.u32(*rank as u32).u32(*process as u32);
}

fn read_process(from: &mut Reader<'_>) -> Result<(usize, usize)> {
    Ok((from.u32()? as usize, from.u32()? as usize))
}

fn say(conn: &mut Conn, kind: u16, meta: &Writer, until: Instant) -> Result<()> {
    conn.send(&Outgoing { kind, id: 0, meta: meta.as_bytes(), sections: &[] }, until)
}

/// What keeps a worker from working with rank 0.
fn differs(first: &Member, other: &Member) -> Option<Error> {
    let rank = other.rank;
    let wrong = |what: String, help: &str| Some(Error::new(Kind::Argument, what).help(help));
    if other.version != first.version {
        let what = format!("rank {rank} runs Oarlock {}, rank 0 runs {}", other.version, first.version);
        return wrong(what, "install the same version everywhere");
    }
    if other.endpoints != first.endpoints {
        let (theirs, ours) = (other.endpoints.join(","), first.endpoints.join(","));
        let what = format!("rank {rank} has the workers {theirs}, rank 0 has {ours}");
        return wrong(what, "give all processes the same list (PADDLE_TRAINER_ENDPOINTS)");
    }
    if other.settings != first.settings {
        let what = format!("rank {rank} has {}, rank 0 has {}", other.settings, first.settings);
        return wrong(what, "give all processes the same settings");
    }
    programs_differ(&first.program, rank, &other.program)
}

/// The first line in which the program of a worker differs from that of rank 0.
pub(crate) fn programs_differ(first: &[String], rank: usize, other: &[String]) -> Option<Error> {
    let line = |program: &[String], i: usize| program.get(i).map_or("nothing more", String::as_str).to_owned();
    let at = (0..first.len().max(other.len())).find(|i| first.get(*i) != other.get(*i))?;
    let what =
        format!("the programs differ: rank {rank} has {}, where rank 0 has {}", line(other, at), line(first, at));
    Some(
        Error::new(Kind::Argument, what).help("all workers must build the same network, with the same names and sizes"),
    )
}

/// Ranks by machine, in the order of their first.
fn hosts(table: &[Member]) -> Vec<Vec<usize>> {
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for member in table {
        match hosts.iter_mut().find(|(name, _)| *name == member.host) {
            Some((_, ranks)) => ranks.push(member.rank),
            None => hosts.push((&member.host, vec![member.rank])),
        }
    }
    hosts.into_iter().map(|(_, ranks)| ranks).collect()
}

/// What only processes have in common that can open each other's files.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    match boot.trim() {
        "" => format!("process {}", std::process::id()),
        boot => format!("{boot} {}", space.display()),
    }
}

fn fresh_id() -> Result<Id> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|e| Error::internal(format!("the system has no random numbers: {e}")))?;
    Ok(id)
}

impl GroupOptions {
    /// Sockets for a purpose.
    pub(crate) fn net_for(&self, purpose: u8, group: &Id) -> NetOptions {
        let mut hello = Writer::new();
        hello.u8(purpose).u32(self.rank as u32).bytes(group);
        NetOptions { hello: hello.into_bytes(), ..self.net.clone() }
    }
}

/// Who greets.
pub(crate) fn rank_of(hello: &[u8]) -> Result<usize> {
    let mut hello = Reader::new(hello, "the greeting of a worker");
    hello.u8()?;
    Ok(hello.u32()? as usize)
}

/// Where a worker listens while a group is formed.
struct Reception {
    joins: Queue<(Member, Conn)>,
    links: Queue<(usize, Id, Conn)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// What keeps others from being let in.
    trouble: Trouble,
}

impl Reception {
    fn open(options: &GroupOptions) -> Result<Reception> {
        let listener = Listener::bind(&options.endpoints[options.rank], &options.net)?;
        let stop = Arc::<AtomicBool>::default();
        let ((join, joins), (link, links)) = (channel(), channel());
        let stopping = stop.clone();
        let until = now() + options.deadline;
        let trouble = Trouble::new(options.rank, listener.endpoint());
        let noted = trouble.clone();
        let greet = move |conn| {
            let (join, link) = (join.clone(), link.clone());
            // Each in a thread of its own: one that says nothing must not keep the others waiting.
            let greeting = move || drop(receive(conn, &join, &link, until));
            if let Err(e) = spawn("oarlock-greet", "a worker that comes", greeting) {
                noted.note(e);
            }
        };
        let of_thread = trouble.clone();
        let accept = move || accept_all(|| listener.accept(&stopping), &of_thread, greet);
        let thread = Some(spawn("oarlock-accept", "workers that come", accept)?);
        Ok(Reception { joins, links, stop, thread, trouble })
    }
}

/// Finds out who has come. A stranger is not let in, and nobody waits for it.
fn receive(
    mut conn: Conn,
    joins: &Arrivals<(Member, Conn)>,
    links: &Arrivals<(usize, Id, Conn)>,
    until: Instant,
) -> Result<()> {
    let hello = conn.hello()?.to_vec();
    let mut hello = Reader::new(&hello, "the greeting of a worker");
    let (purpose, rank) = (hello.u8()?, hello.u32()? as usize);
    let group: Id = hello.bytes()?.try_into().map_err(|_| Error::new(Kind::Format, "a group has 16 bytes"))?;
    if purpose == FOR_KNOCK {
        return Ok(());
    }
    if purpose == FOR_LINK {
        // If nobody waits for it any more, it is closed.
        let _ = links.send((rank, group, conn));
        return Ok(());
    }
    let mut frame = Incoming::new();
    if conn.recv(&mut frame, until)? == Received::Frame && frame.kind() == JOIN {
        let member = Member::decode(&mut Reader::new(frame.meta(), "what a worker says of itself"))?;
        let _ = joins.send((member, conn));
    }
    Ok(())
}

impl Drop for Reception {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It looks at `stop` many times a second.
            let _ = thread.join();
        }
    }
}
