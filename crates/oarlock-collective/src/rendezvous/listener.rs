//! The port of a rank while a group is formed: connections to join and to exchange values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Queue, Sender as Arrivals, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Conn, Incoming, Listener, NetOptions, Received, now, spawn};

use super::rank_info::RankInfo;
use super::{Id, JOIN};
use crate::group::GroupOptions;
use crate::listener::{ListenErrors, accept_all};

/// The purpose of a connection.
pub(super) const FOR_JOIN: u8 = 1;
pub(super) const FOR_LINK: u8 = 2;
pub(crate) const FOR_REJOIN: u8 = 3;

/// The first message of a connection between ranks.
pub(crate) struct Hello {
    purpose: u8,
    pub(crate) rank: usize,
    group: Id,
}

impl Hello {
    /// Fails if it is damaged, or if there is no such rank among `world`.
    pub(crate) fn decode(bytes: &[u8], world: usize) -> Result<Hello> {
        let mut from = Reader::new(bytes, "the greeting of a rank");
        let (purpose, rank, group) = (from.u8()?, from.u32()? as usize, from.bytes()?);
        let group = group.try_into().map_err(|_| Error::new(Kind::Format, "the id of a group has 16 bytes"))?;
        if rank >= world {
            return Err(Error::new(Kind::Format, format!("rank {rank} connects, but there are {world} ranks")));
        }
        Ok(Hello { purpose, rank, group })
    }
}

impl GroupOptions {
    /// The settings of a connection for a purpose.
    pub(crate) fn net_for(&self, purpose: u8, group: &Id) -> NetOptions {
        let mut hello = Writer::new();
        hello.u8(purpose).u32(self.rank as u32).bytes(group);
        NetOptions { hello: hello.into_bytes(), ..self.net.clone() }
    }
}

/// The port of a rank while a group is formed.
pub(super) struct RendezvousListener {
    pub(super) joins: Queue<(RankInfo, Conn)>,
    pub(super) links: Queue<(usize, Id, Conn)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    pub(super) errors: ListenErrors,
}

impl RendezvousListener {
    pub(super) fn open(options: &GroupOptions) -> Result<RendezvousListener> {
        let listener = Listener::bind(&options.endpoints[options.rank], &options.net)?;
        let stop = Arc::<AtomicBool>::default();
        let ((join, joins), (link, links)) = (channel(), channel());
        let stopping = stop.clone();
        let until = now() + options.deadline;
        let errors = ListenErrors::new(options.rank, listener.endpoint());
        let (of_greeting, of_thread) = (errors.clone(), errors.clone());
        let world = options.endpoints.len();
        let greet = move |conn| {
            let (join, link) = (join.clone(), link.clone());
            // Each in a thread of its own: a peer that sends nothing must not delay the others.
            let greeting = move || drop(receive(conn, world, &join, &link, until));
            if let Err(e) = spawn("oarlock-greet", "a connecting rank", greeting) {
                of_greeting.note(e);
            }
        };
        let accept = move || accept_all(|| listener.accept(&stopping), &of_thread, greet);
        let thread = Some(spawn("oarlock-accept", "connecting ranks", accept)?);
        Ok(RendezvousListener { joins, links, stop, thread, errors })
    }
}

/// Reads the purpose of a connection and queues it. One of an unauthenticated peer is dropped.
fn receive(
    mut conn: Conn,
    world: usize,
    joins: &Arrivals<(RankInfo, Conn)>,
    links: &Arrivals<(usize, Id, Conn)>,
    until: Instant,
) -> Result<()> {
    let Hello { purpose, rank, group } = Hello::decode(conn.hello()?, world)?;
    if purpose == FOR_REJOIN {
        return Ok(());
    }
    if purpose == FOR_LINK {
        // If it is no longer waited for, it is closed.
        let _ = links.send((rank, group, conn));
        return Ok(());
    }
    let mut frame = Incoming::new();
    if conn.recv(&mut frame, until)? == Received::Frame && frame.kind() == JOIN {
        let info = RankInfo::decode(&mut Reader::new(frame.meta(), "the description of a rank"))?;
        if info.rank < world {
            let _ = joins.send((info, conn));
        }
    }
    Ok(())
}

impl Drop for RendezvousListener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It looks at `stop` many times a second.
            let _ = thread.join();
        }
    }
}
