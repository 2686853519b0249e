//! Workers that exchange values: the public face of this module.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result, Runtime};
use oarlock_tensor::{DType, Element};
use parking_lot::Mutex;

use crate::backend::Backend;
use crate::call::{Call, Wait, What};
use crate::engine::Engine;
use crate::failure::Fate;
use crate::failure_detector::Watch;
use crate::groups::Rings;
use crate::reduce::Reduce;
use crate::rejoin::{Door, find_first};
use crate::rendezvous::{Expected, Formed, form};
use oarlock_net::{Listener, NetOptions, now};

/// Who works together, and how.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// Which of the workers this is, counted from 0.
    pub rank: usize,
    /// `host:port` of every worker, the same list everywhere.
    pub endpoints: Vec<String>,
    /// Sockets.
    pub net: NetOptions,
    /// How long to wait for the others, at the beginning and in every exchange.
    pub deadline: Duration,
    /// After so long without a sign of life a worker counts as dead.
    pub silence: Duration,
    /// What carries values.
    pub backend: Backend,
    /// The file of the MPI library, for [`Backend::Mpi`]; searched for if not given.
    pub mpi_library: Option<String>,
    /// The name of this machine, to keep apart what could share memory; found out if not given.
    pub machine: Option<String>,
    /// With several machines: join the values of each machine first, so that only one worker of each uses the network.
    pub hierarchical: bool,
    /// Gradients are exchanged together up to so many bytes.
    pub fuse_bytes: usize,
    /// Go on with those who are left when a worker dies, and let it come back.
    pub elastic: bool,
    /// This process was started again, and looks for the others, who are at work already; needs `elastic`.
    pub late: bool,
    /// A file that is there as soon as a worker of the job has finished: one that is started again then has nobody to join.
    pub finished: Option<PathBuf>,
    /// What all must have in common, line by line: parameters and their sizes, for example. The first line that differs is named.
    pub program: Vec<String>,
    /// Set to make exchanges that wait give up.
    pub interrupted: Option<Arc<AtomicBool>>,
}

impl GroupOptions {
    /// Fails if this process was started again, and the others have finished meanwhile.
    pub(crate) fn check_unfinished(&self) -> Result<()> {
        let finished = || self.finished.as_ref().is_some_and(|file| file.exists());
        if self.elastic && self.late && finished() {
            let what = format!("rank {} was started again, and the other workers have finished without it", self.rank);
            return Err(Error::new(Kind::Argument, what).help("there is nothing left to do: the job is done"));
        }
        Ok(())
    }

    /// Worker `rank` of those at `endpoints`.
    pub fn new(rank: usize, endpoints: Vec<String>) -> GroupOptions {
        GroupOptions {
            rank,
            endpoints,
            net: NetOptions::default(),
            deadline: Duration::from_secs(180),
            silence: Duration::from_secs(4),
            backend: Backend::Auto,
            mpi_library: None,
            machine: None,
            hierarchical: false,
            fuse_bytes: 4 << 20,
            elastic: false,
            late: false,
            finished: None,
            program: Vec::new(),
            interrupted: None,
        }
    }

    /// Worker `rank` of those at `endpoints`, with the settings of a runtime; what interrupts its runs interrupts exchanges.
    pub fn of(runtime: &Runtime, rank: usize, endpoints: Vec<String>) -> GroupOptions {
        let settings = Rings::of(runtime).settings().unwrap_or_else(|| GroupOptions::new(rank, Vec::new()));
        GroupOptions { rank, endpoints, interrupted: Some(runtime.stop_flag()), ..settings }
    }

    /// What must be the same everywhere for all to do the same.
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
            let what = format!("this is worker {rank}, and there are {count}");
            return Err(Error::new(Kind::Argument, what).help("workers are counted from 0"));
        }
        if self.elastic && self.backend == Backend::Mpi {
            return Err(Error::new(Kind::Argument, "an elastic group cannot exchange values over MPI")
                .help("MPI ends all processes when one dies: leave out --elastic, or --backend mpi"));
        }
        Ok(())
    }
}

/// A group of workers, seen from one of them. All call the same functions in the same order with as many values; each gets the
/// same bits, and the same ones in every run.
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
    /// None if there is nobody else.
    state: Mutex<Option<State>>,
    fate: Arc<Fate>,
    route: &'static str,
    /// Who is in it, ascending.
    ranks: Vec<usize>,
    /// Who comes late knocks here.
    door: Mutex<Option<Entrance>>,
}

/// What a worker of an elastic group listens with while it is at work.
enum Entrance {
    /// Where those who come late knock.
    Door(Door),
    /// Nobody answers here; that it listens shows that this worker lives.
    Porch(#[expect(dead_code, reason = "it listens as long as it is kept")] Listener),
}

struct State {
    engine: Box<dyn Engine>,
    watch: Watch,
}

/// The most bytes that one worker brings to a meeting: what a peer says is not trusted with all memory.
const MOST_GATHERED: i64 = 1 << 30;

impl Group {
    /// Joins the group; returns when all workers have come.
    pub fn join(options: GroupOptions) -> Result<Group> {
        options.check()?;
        if options.endpoints.len() == 1 {
            let fate = Arc::new(Fate::new(options.rank, options.endpoints.clone()));
            let (ranks, route) = (vec![options.rank], "nothing: there is one worker");
            return Ok(Group { options, state: Mutex::default(), fate, route, ranks, door: Mutex::default() });
        }
        options.check_unfinished()?;
        let late = options.elastic && options.late && find_first(&options).is_some();
        Group::form(options, if late { &Expected::Late } else { &Expected::All })
    }

    /// Joins those who are expected.
    pub(crate) fn form(options: GroupOptions, expected: &Expected) -> Result<Group> {
        let fate = Arc::new(Fate::new(options.rank, options.endpoints.clone()));
        let Formed { engine, control, memory, closers, route, ranks, first } = form(&options, expected)?;
        fate.wakes(memory, closers);
        let watch = Watch::new(options.rank, first, fate.clone(), options.silence, control)?;
        let door = match options.elastic {
            false => None,
            true if options.rank == first => Some(Entrance::Door(Door::open(&options)?)),
            // Without it this worker only counts as dead too early if others die while it is busy.
            true => Listener::bind(&options.endpoints[options.rank], &options.net).ok().map(Entrance::Porch),
        };
        let door = Mutex::new(door);
        Ok(Group { options, state: Mutex::new(Some(State { engine, watch })), fate, route, ranks, door })
    }

    /// Who is in it, by the numbers they were given at the beginning.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Who died, and who left before the others.
    pub(crate) fn lost(&self) -> Vec<usize> {
        self.fate.lost()
    }

    /// Who has knocked: workers that came back. Only the first worker of a group knows.
    pub(crate) fn knocked(&self) -> Vec<usize> {
        match &*self.door.lock() {
            Some(Entrance::Door(door)) => door.knocked(),
            _ => Vec::new(),
        }
    }

    /// Which worker of the group this is.
    pub fn rank(&self) -> usize {
        self.ranks.iter().position(|rank| *rank == self.options.rank).unwrap_or(0)
    }

    /// How many workers there are.
    pub fn world(&self) -> usize {
        self.ranks.len()
    }

    /// How values travel, for people: shared memory, TCP, or both.
    pub fn route(&self) -> &'static str {
        self.route
    }

    /// Its settings.
    pub fn options(&self) -> &GroupOptions {
        &self.options
    }

    /// Every worker's values, joined, in every worker.
    pub fn all_reduce<T: Element>(&self, data: &mut [T], how: Reduce) -> Result<()> {
        self.all_reduce_bytes("", T::DTYPE, bytemuck::cast_slice_mut(data), how)
    }

    /// The slice of all workers' values that belongs to this one, joined. `data` has one slice per worker.
    pub fn reduce_scatter<T: Element>(&self, data: &[T], own: &mut [T], how: Reduce) -> Result<()> {
        self.reduce_scatter_bytes("", T::DTYPE, bytemuck::cast_slice(data), bytemuck::cast_slice_mut(own), how)
    }

    /// All workers' values one after the other, in every worker.
    pub fn all_gather<T: Element>(&self, own: &[T], all: &mut [T]) -> Result<()> {
        self.all_gather_bytes("", T::DTYPE, bytemuck::cast_slice(own), bytemuck::cast_slice_mut(all))
    }

    /// The values of worker `root`, in every worker.
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.broadcast_bytes("", T::DTYPE, bytemuck::cast_slice_mut(data), root)
    }

    /// Waits until all workers are here.
    pub fn barrier(&self) -> Result<()> {
        self.all_reduce_bytes("barrier", DType::U8, &mut [], Reduce::Sum)
    }

    /// Leaves the group. The others learn it if they wait for this worker.
    pub fn leave(&self) {
        self.door.lock().take();
        if let Some(mut state) = self.state.lock().take() {
            state.engine.flush();
            state.watch.leave();
        }
    }

    /// Breaks all connections without a word, as a process does that is killed: the others name this worker as dead.
    pub fn abandon(&self) {
        self.door.lock().take();
        if let Some(mut state) = self.state.lock().take() {
            state.watch.abandon();
        }
    }

    /// Ends this group because another is formed of those who are left, or of more.
    pub(crate) fn part(&self) {
        if let Some(mut state) = self.state.lock().take() {
            state.watch.part();
        }
        // Last: one that does not listen for long is taken for dead.
        self.door.lock().take();
    }

    /// The bytes of every worker, in the order of ranks; each may have another number of them.
    pub fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut lengths = vec![0_i64; self.world()];
        self.all_gather(&[own.len() as i64], &mut lengths)?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if lengths.iter().any(|len| !(0..=MOST_GATHERED).contains(len)) {
            let what = format!("a worker brings {longest} bytes to a meeting, and the most is {MOST_GATHERED}");
            return Err(Error::new(Kind::Range, what).help("bring less at a time"));
        }
        let longest = longest as usize;
        let mut padded = own.to_vec();
        padded.resize(longest, 0);
        let mut all = vec![0; longest * self.world()];
        self.all_gather(&padded, &mut all)?;
        let cut = |(rank, len): (usize, &i64)| all[rank * longest..][..(*len as usize).min(longest)].to_vec();
        Ok(lengths.iter().enumerate().map(cut).collect())
    }

    pub(crate) fn all_reduce_bytes(&self, name: &str, dtype: DType, data: &mut [u8], how: Reduce) -> Result<()> {
        how.fold(dtype)?;
        self.call(What::AllReduce(how), name, dtype, data.len(), |engine, wait| engine.all_reduce(wait, data))
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
        self.call(What::ReduceScatter(how), name, dtype, data.len(), |engine, wait| {
            engine.reduce_scatter(wait, data, own)
        })
    }

    pub(crate) fn all_gather_bytes(&self, name: &str, dtype: DType, own: &[u8], all: &mut [u8]) -> Result<()> {
        self.whole_slices(all.len(), own.len())?;
        if self.world() == 1 {
            all.copy_from_slice(own);
        }
        self.call(What::AllGather, name, dtype, own.len(), |engine, wait| engine.all_gather(wait, own, all))
    }

    pub(crate) fn broadcast_bytes(&self, name: &str, dtype: DType, data: &mut [u8], root: usize) -> Result<()> {
        if root >= self.world() {
            let what = format!("worker {root} is to broadcast, and there are {}", self.world());
            return Err(Error::new(Kind::Argument, what).help("workers are counted from 0"));
        }
        self.call(What::Broadcast(root), name, dtype, data.len(), |engine, wait| engine.broadcast(wait, root, data))
    }

    fn whole_slices(&self, all: usize, own: usize) -> Result<()> {
        if all == own * self.world() {
            return Ok(());
        }
        let what = format!("{all} bytes are not {} slices of {own} bytes", self.world());
        Err(Error::new(Kind::Shape, what).help("the first dimension must have one slice for each worker"))
    }

    fn call(
        &self,
        what: What,
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
        self.fate.calls.fetch_add(1, Ordering::Relaxed);
        let call = Call { what, dtype, count: bytes / dtype.size(), name };
        let until = now() + self.options.deadline;
        let interrupted = self.options.interrupted.as_deref();
        exchange(engine.as_mut(), &Wait { fate: &self.fate, until, interrupted, call })
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
