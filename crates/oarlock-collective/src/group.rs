//! A group of collective workers: all-reduce, all-gather, reduce-scatter, broadcast and barrier.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result, Runtime};
use oarlock_tensor::{DType, Element};
use parking_lot::Mutex;

use crate::backend::Backend;
use crate::call::{Call, CallKind, Wait};
use crate::engine::Engine;
use crate::failure::FailureState;
use crate::failure_detector::FailureDetector;
use crate::groups::Groups;
use crate::reduce::Reduce;
use crate::rejoin::{RejoinListener, find_coordinator};
use crate::rendezvous::{Expected, Formed, form};
use oarlock_net::{Listener, NetOptions, now};

/// The ranks of a group, and how they exchange values.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// The rank of this process, counted from 0.
    pub rank: usize,
    /// `host:port` of every rank, the same list everywhere.
    pub endpoints: Vec<String>,
    /// Sockets.
    pub net: NetOptions,
    /// How long to wait for the other ranks, in the rendezvous and in every exchange.
    pub deadline: Duration,
    /// A rank that sends no heartbeat for this time counts as dead.
    pub heartbeat_timeout: Duration,
    /// The carrier of values.
    pub backend: Backend,
    /// The file of the MPI library, for [`Backend::Mpi`]; searched for if not given.
    pub mpi_library: Option<String>,
    /// The name of this machine, which decides which ranks share memory; found out if not given.
    pub machine: Option<String>,
    /// With several machines: reduce inside each machine first, so that only one rank of each uses the network.
    pub hierarchical: bool,
    /// Gradients are exchanged together up to this number of bytes.
    pub fuse_bytes: usize,
    /// Go on without a rank that dies, and let it rejoin.
    pub elastic: bool,
    /// This process was started again and rejoins the others, which are at work already; needs `elastic`.
    pub rejoins: bool,
    /// A file that exists as soon as a rank of the job has finished: a restarted rank then has no group to join.
    pub finished_file: Option<PathBuf>,
    /// Lines that must be the same on all ranks: parameters and their sizes, for example. The first that differs is named.
    pub program: Vec<String>,
    /// Set to make exchanges that wait give up.
    pub interrupted: Option<Arc<AtomicBool>>,
}

impl GroupOptions {
    /// Fails if this process was started again and the others have finished.
    pub(crate) fn check_unfinished(&self) -> Result<()> {
        let finished = || self.finished_file.as_ref().is_some_and(|file| file.exists());
        if self.elastic && self.rejoins && finished() {
            let what = format!("rank {} was started again, and the other ranks have finished without it", self.rank);
            return Err(Error::new(Kind::Argument, what).help("there is nothing left to do: the job is done"));
        }
        Ok(())
    }

    /// Rank `rank` of those at `endpoints`, with default settings.
    pub fn new(rank: usize, endpoints: Vec<String>) -> GroupOptions {
        GroupOptions {
            rank,
            endpoints,
            net: NetOptions::default(),
            deadline: Duration::from_secs(180),
            heartbeat_timeout: Duration::from_secs(4),
            backend: Backend::Auto,
            mpi_library: None,
            machine: None,
            hierarchical: false,
            fuse_bytes: 4 << 20,
            elastic: false,
            rejoins: false,
            finished_file: None,
            program: Vec::new(),
            interrupted: None,
        }
    }

    /// Rank `rank` of those at `endpoints`, with the settings of a runtime; an interrupt of its runs interrupts exchanges.
    pub fn of(runtime: &Runtime, rank: usize, endpoints: Vec<String>) -> GroupOptions {
        let settings = Groups::of(runtime).settings().unwrap_or_else(|| GroupOptions::new(rank, Vec::new()));
        GroupOptions { rank, endpoints, interrupted: Some(runtime.stop_flag()), ..settings }
    }

    /// The settings that must be the same on all ranks.
    pub(crate) fn settings(&self) -> String {
        format!(
            "OARLOCK_FUSE_MB={:.3}, hierarchical={}, backend={}, elastic={}",
            self.fuse_bytes as f64 / f64::from(1 << 20),
            self.hierarchical,
            self.backend,
            self.elastic
        )
    }

    fn check(&self) -> Result<()> {
        let (rank, count) = (self.rank, self.endpoints.len());
        if rank >= count {
            let what = format!("this is rank {rank}, but there are {count} ranks");
            return Err(Error::new(Kind::Argument, what).help("ranks are counted from 0"));
        }
        if self.elastic && self.backend == Backend::Mpi {
            return Err(Error::new(Kind::Argument, "an elastic group cannot exchange values over MPI")
                .help("MPI ends all processes when one dies: leave out --elastic, or --backend mpi"));
        }
        Ok(())
    }
}

/// A group of collective workers, seen from one rank. All ranks call the same functions in the same order with the same number of
/// values; each gets the same bits, and the same bits in every run.
///
/// ```no_run
/// use oarlock_collective::{Group, GroupOptions, Reduce};
/// # fn main() -> oarlock_ir::Result<()> {
/// let group = Group::join(GroupOptions::new(0, vec!["127.0.0.1:6170".into(), "127.0.0.1:6171".into()]))?;
/// let mut loss = [0.25_f32];
/// group.all_reduce(&mut loss, Reduce::Sum)?;
/// # Ok(())
/// # }
/// ```
pub struct Group {
    options: GroupOptions,
    /// None if there is one rank, or this one has left.
    state: Mutex<Option<State>>,
    failures: Arc<FailureState>,
    route: &'static str,
    /// The ranks in the group, ascending.
    ranks: Vec<usize>,
    /// Open in elastic groups.
    listener: Mutex<Option<ElasticListener>>,
}

/// The port of a rank of an elastic group while the group is at work.
enum ElasticListener {
    /// Of the coordinator: ranks ask to rejoin.
    Rejoin(RejoinListener),
    /// Of the others: it accepts nothing; that it is open shows that the rank lives.
    Open(#[expect(dead_code, reason = "it listens as long as it is kept")] Listener),
}

struct State {
    engine: Box<dyn Engine>,
    detector: FailureDetector,
}

/// The most bytes that one rank may contribute to [`Group::gather`]: lengths come from peers.
const MOST_GATHERED: i64 = 1 << 30;

impl Group {
    /// Joins the group; returns when all ranks have.
    pub fn join(options: GroupOptions) -> Result<Group> {
        options.check()?;
        if options.endpoints.len() == 1 {
            let failures = Arc::new(FailureState::new(options.rank, options.endpoints.clone()));
            let (ranks, route) = (vec![options.rank], "nothing: there is one worker");
            return Ok(Group { options, state: Mutex::default(), failures, route, ranks, listener: Mutex::default() });
        }
        options.check_unfinished()?;
        let rejoin = options.elastic && options.rejoins && find_coordinator(&options).is_some();
        Group::form(options, if rejoin { &Expected::Rejoin } else { &Expected::All })
    }

    /// Forms the group with the ranks that are expected.
    pub(crate) fn form(options: GroupOptions, expected: &Expected) -> Result<Group> {
        let failures = Arc::new(FailureState::new(options.rank, options.endpoints.clone()));
        let Formed { engine, control, memory, closers, route, ranks, coordinator } = form(&options, expected)?;
        failures.wakes(memory, closers);
        let detector =
            FailureDetector::new(options.rank, coordinator, failures.clone(), options.heartbeat_timeout, control)?;
        let listener = match options.elastic {
            false => None,
            true if options.rank == coordinator => Some(ElasticListener::Rejoin(RejoinListener::open(&options)?)),
            // Without it this rank counts as dead too early if others die while it is busy, and nothing else.
            true => Listener::bind(&options.endpoints[options.rank], &options.net).ok().map(ElasticListener::Open),
        };
        let listener = Mutex::new(listener);
        Ok(Group { options, state: Mutex::new(Some(State { engine, detector })), failures, route, ranks, listener })
    }

    /// The ranks in the group, by the numbers they had at the beginning.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The ranks that died, or left before the others.
    pub(crate) fn lost(&self) -> Vec<usize> {
        self.failures.lost()
    }

    /// The ranks that asked to rejoin. Only the coordinator knows.
    pub(crate) fn rejoin_requested(&self) -> Vec<usize> {
        match &*self.listener.lock() {
            Some(ElasticListener::Rejoin(listener)) => listener.rejoin_requested(),
            _ => Vec::new(),
        }
    }

    /// The place of this rank in the group, counted from 0.
    pub fn rank(&self) -> usize {
        self.ranks.iter().position(|rank| *rank == self.options.rank).unwrap_or(0)
    }

    /// The number of ranks.
    pub fn world(&self) -> usize {
        self.ranks.len()
    }

    /// The way of values, for people: shared memory, TCP, or both.
    pub fn route(&self) -> &'static str {
        self.route
    }

    /// Its settings.
    pub fn options(&self) -> &GroupOptions {
        &self.options
    }

    /// All-reduce: the values of all ranks, reduced, on every rank.
    pub fn all_reduce<T: Element>(&self, data: &mut [T], how: Reduce) -> Result<()> {
        self.all_reduce_bytes("", T::DTYPE, bytemuck::cast_slice_mut(data), how)
    }

    /// Reduce-scatter: this rank's slice of the reduced values. `data` has one slice per rank.
    pub fn reduce_scatter<T: Element>(&self, data: &[T], own: &mut [T], how: Reduce) -> Result<()> {
        self.reduce_scatter_bytes("", T::DTYPE, bytemuck::cast_slice(data), bytemuck::cast_slice_mut(own), how)
    }

    /// All-gather: the values of all ranks one after the other, on every rank.
    pub fn all_gather<T: Element>(&self, own: &[T], all: &mut [T]) -> Result<()> {
        self.all_gather_bytes("", T::DTYPE, bytemuck::cast_slice(own), bytemuck::cast_slice_mut(all))
    }

    /// Broadcast: the values of rank `root`, on every rank.
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.broadcast_bytes("", T::DTYPE, bytemuck::cast_slice_mut(data), root)
    }

    /// Barrier: waits until all ranks are in it.
    pub fn barrier(&self) -> Result<()> {
        self.all_reduce_bytes("barrier", DType::U8, &mut [], Reduce::Sum)
    }

    /// Leaves the group. Ranks that wait for this one get an error.
    pub fn leave(&self) {
        self.listener.lock().take();
        if let Some(mut state) = self.state.lock().take() {
            state.engine.flush();
            state.detector.leave();
        }
    }

    /// Closes all connections without leaving, as a killed process does: the others name this rank as dead.
    pub fn abandon(&self) {
        self.listener.lock().take();
        if let Some(mut state) = self.state.lock().take() {
            state.detector.abandon();
        }
    }

    /// Ends this group because another is formed, of fewer or more ranks.
    pub(crate) fn part(&self) {
        if let Some(mut state) = self.state.lock().take() {
            state.detector.part();
        }
        // Last: a rank that does not listen for long counts as dead.
        self.listener.lock().take();
    }

    /// All-gather of bytes, in the order of ranks; each rank may have another number of them.
    pub fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut lengths = vec![0_i64; self.world()];
        self.all_gather(&[own.len() as i64], &mut lengths)?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if lengths.iter().any(|len| !(0..=MOST_GATHERED).contains(len)) {
            let what =
                format!("a rank contributes {longest} bytes to an all-gather, but at most {MOST_GATHERED} are allowed");
            return Err(Error::new(Kind::Range, what).help("gather less at a time"));
        }
        let longest = longest as usize;
        let mut padded = own.to_vec();
        padded.resize(longest, 0);
        let mut all = vec![0; longest * self.world()];
        self.all_gather(&padded, &mut all)?;
        let own = |(rank, len): (usize, &i64)| all[rank * longest..][..(*len as usize).min(longest)].to_vec();
        Ok(lengths.iter().enumerate().map(own).collect())
    }

    pub(crate) fn all_reduce_bytes(&self, name: &str, dtype: DType, data: &mut [u8], how: Reduce) -> Result<()> {
        how.fold(dtype)?;
        self.call(CallKind::AllReduce(how), name, dtype, data.len(), |engine, wait| engine.all_reduce(wait, data))
    }

    pub(crate) fn reduce_scatter_bytes(
        &self,
        name: &str,
        dtype: DType,
        data: &[u8],
        own: &mut [u8],
        how: Reduce,
    ) -> Result<()> {
        how.fold(dtype)?;
        self.whole_slices(data.len(), own.len())?;
        if self.world() == 1 {
            own.copy_from_slice(data);
        }
        self.call(CallKind::ReduceScatter(how), name, dtype, data.len(), |engine, wait| {
            engine.reduce_scatter(wait, data, own)
        })
    }

    pub(crate) fn all_gather_bytes(&self, name: &str, dtype: DType, own: &[u8], all: &mut [u8]) -> Result<()> {
        self.whole_slices(all.len(), own.len())?;
        if self.world() == 1 {
            all.copy_from_slice(own);
        }
        self.call(CallKind::AllGather, name, dtype, own.len(), |engine, wait| engine.all_gather(wait, own, all))
    }

    pub(crate) fn broadcast_bytes(&self, name: &str, dtype: DType, data: &mut [u8], root: usize) -> Result<()> {
        if root >= self.world() {
            let what = format!("rank {root} is to broadcast, but there are {} ranks", self.world());
            return Err(Error::new(Kind::Argument, what).help("ranks are counted from 0"));
        }
        self.call(CallKind::Broadcast(root), name, dtype, data.len(), |engine, wait| engine.broadcast(wait, root, data))
    }

    fn whole_slices(&self, all: usize, own: usize) -> Result<()> {
        if all == own * self.world() {
            return Ok(());
        }
        let what = format!("{all} bytes are not {} slices of {own} bytes", self.world());
        Err(Error::new(Kind::Shape, what).help("the first dimension must have one slice for each rank"))
    }

    fn call(
        &self,
        kind: CallKind,
        name: &str,
        dtype: DType,
        bytes: usize,
        exchange: impl FnOnce(&mut dyn Engine, &Wait<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.world() == 1 {
            return Ok(());
        }
        let mut state = self.state.lock();
        let Some(State { engine, .. }) = &mut *state else {
            return Err(Error::new(Kind::Argument, format!("rank {} has left the group", self.rank())));
        };
        self.failures.calls.fetch_add(1, Ordering::Relaxed);
        let call = Call { kind, dtype, count: bytes / dtype.size(), name };
        let until = now() + self.options.deadline;
        let interrupted = self.options.interrupted.as_deref();
        exchange(engine.as_mut(), &Wait { failures: &self.failures, until, interrupted, call })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.leave();
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Group(rank {} of {}, {})", self.rank(), self.world(), self.route)
    }
}
