//! The choice of an engine: shared memory on one machine, messages over TCP or MPI between machines, or both in a hierarchy.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Closer, Conn};
use oarlock_sys::SharedMemory;

use super::listener::FOR_LINK;
use super::rank_info::{RankInfo, hosts};
use super::{Formed, Id, POLL, Rendezvous};
use crate::backend::Backend;
use crate::engine::hierarchical::HierarchicalEngine;
use crate::engine::message::{MessageEngine, linked};
use crate::engine::shared_memory::{self, SharedMemoryEngine};
use crate::engine::transport::Tcp;
use crate::engine::{Engine, SingleRank};

/// The engine over connections, if this rank has some, and their closers.
type Connected = (Option<Box<dyn Engine>>, Vec<Closer>);

/// The ways by which the ranks of a group reach each other.
pub(super) struct Routes {
    /// The shared memory of this machine, if all ranks can use that of theirs.
    memory: Option<Arc<SharedMemory>>,
    mapped: bool,
    /// Process numbers in MPI, by rank.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "the message has it in any build"))]
    processes: BTreeMap<usize, usize>,
    id: Id,
}

impl Rendezvous<'_> {
    /// Maps the shared memory of this machine; none if this is the only rank on it, an error if it cannot be used.
    pub(super) fn map(&self, table: &[RankInfo]) -> Result<Option<Arc<SharedMemory>>> {
        let near: Vec<&RankInfo> = table.iter().filter(|info| info.host == self.own.host).collect();
        if near.len() < 2 {
            return Ok(None);
        }
        let cannot = |why: String| Error::new(Kind::Io, format!("no shared memory: {why}"));
        let own = self.memory.clone().ok_or_else(|| cannot("switched off, or not on this system".into()))?;
        let first = near[0];
        if first.rank == self.own.rank {
            return Ok(Some(own));
        }
        let size = shared_memory::size(self.options.endpoints.len());
        let memory = SharedMemory::open(first.process, first.file, size).map_err(|e| cannot(e.to_string()))?;
        if !shared_memory::is_of(&memory, &first.mark) {
            return Err(cannot("another process has that number here".into()));
        }
        Ok(Some(Arc::new(memory)))
    }

    /// This rank and its process number in MPI (0 if MPI is not used).
    pub(super) fn process(&self) -> Result<(usize, usize)> {
        let process = match self.options.backend {
            #[cfg(feature = "mpi")]
            Backend::Mpi => crate::engine::mpi::start(self.options)?,
            _ => 0,
        };
        Ok((self.options.rank, process))
    }

    /// Puts together by which ways the ranks reach each other.
    pub(super) fn routes(
        &self,
        memory: Option<Arc<SharedMemory>>,
        mapped: bool,
        processes: Vec<(usize, usize)>,
        id: Id,
    ) -> Result<Routes> {
        #[cfg(feature = "mpi")]
        if self.options.backend == Backend::Mpi {
            crate::engine::mpi::check(&processes)?;
        }
        Ok(Routes { memory: memory.filter(|_| mapped), mapped, processes: processes.into_iter().collect(), id })
    }

    /// Chooses the engine, and makes the connections that it needs.
    pub(super) fn connect(&mut self, table: &[RankInfo], routes: Routes) -> Result<Formed> {
        let Routes { memory, mapped, .. } = &routes;
        let ranks: Vec<usize> = table.iter().map(|info| info.rank).collect();
        let hosts = hosts(table);
        let me = self.options.rank;
        let place = |rank: usize| ranks.iter().position(|r| *r == rank).unwrap_or(0);
        let near_place = |host: &[usize]| host.iter().position(|rank| *rank == me).unwrap_or(0);
        let mine = hosts.iter().find(|host| host.contains(&me)).cloned().unwrap_or_default();
        let near = || memory.clone().map(|memory| SharedMemoryEngine::new(memory, mine.clone(), near_place(&mine)));
        let hierarchical = *mapped && self.options.hierarchical && hosts.len() > 1 && hosts.len() < table.len();
        let (engine, closers, route): (Box<dyn Engine>, Vec<Closer>, &'static str) = match near() {
            Some(engine) if *mapped && hosts.len() == 1 && self.options.backend == Backend::Auto => {
                (Box::new(engine), Vec::new(), "shared memory")
            }
            _ if ranks.len() == 1 => (Box::new(SingleRank), Vec::new(), "nothing: one worker is left"),
            near if hierarchical => {
                let firsts: Vec<usize> = hosts.iter().map(|host| host[0]).collect();
                let (far, closers) = match firsts.contains(&me) {
                    true => self.wire(firsts, &routes)?,
                    false => (None, Vec::new()),
                };
                let near = near.map(|near| Box::new(near) as Box<dyn Engine>);
                let places = hosts.iter().map(|host| host.iter().map(|rank| place(*rank)).collect()).collect();
                let hierarchical = HierarchicalEngine::new(places, place(me), near, far);
                (Box::new(hierarchical), closers, self.carrier().1)
            }
            _ => {
                let (engine, closers) = self.wire(ranks.clone(), &routes)?;
                let engine = engine.ok_or_else(|| Error::internal("there is no rank to connect to"))?;
                (engine, closers, self.carrier().0)
            }
        };
        let memory = routes.memory.filter(|_| route != self.carrier().0);
        Ok(Formed { engine, control: Vec::new(), memory, closers, route, ranks, coordinator: self.coordinator })
    }

    /// The name of the transport, for people: alone, and between machines.
    fn carrier(&self) -> (&'static str, &'static str) {
        match self.options.backend {
            Backend::Mpi => ("MPI", "shared memory, then MPI between machines"),
            _ => ("TCP", "shared memory, then TCP between machines"),
        }
    }

    /// Connects this rank with those of `members` that it exchanges messages with: the higher rank connects.
    fn wire(&mut self, members: Vec<usize>, routes: &Routes) -> Result<Connected> {
        let id = &routes.id;
        #[cfg(feature = "mpi")]
        if self.options.backend == Backend::Mpi {
            let me = members.iter().position(|rank| *rank == self.options.rank).unwrap_or(0);
            let process = |rank: usize| (rank, routes.processes.get(&rank).copied().unwrap_or(rank));
            let members = members.into_iter().map(process).collect();
            let messages = crate::engine::mpi::Messages::new(self.options, members, me, id)?;
            return Ok((Some(Box::new(MessageEngine::new(messages))), Vec::new()));
        }
        let me = members.iter().position(|rank| *rank == self.options.rank).unwrap_or(0);
        let peers: Vec<usize> = (0..members.len()).filter(|other| linked(me, *other, members.len())).collect();
        let mut conns = Vec::new();
        for place in peers.iter().copied().filter(|place| *place < me) {
            let endpoint = &self.options.endpoints[members[place]];
            let net = self.options.net_for(FOR_LINK, id);
            conns.push((place, Conn::connect(endpoint, &net, self.until)?));
        }
        let mut missing: Vec<usize> = peers.into_iter().filter(|place| *place > me).collect();
        while !missing.is_empty() {
            if let Ok((rank, group, conn)) = self.listener.links.recv_timeout(POLL) {
                let place = members.iter().position(|member| *member == rank);
                if let Some(place) = place.filter(|place| group == *id && missing.contains(place)) {
                    missing.retain(|other| *other != place);
                    conns.push((place, conn));
                }
                continue;
            }
            self.check_time(|| missing.iter().map(|place| self.name(members[*place])).collect::<Vec<_>>().join(", "))?;
        }
        let closers = conns.iter().map(|(_, conn)| conn.closer()).collect();
        Ok((Some(Box::new(MessageEngine::new(Tcp::new(members, me, conns)?))), closers))
    }
}
