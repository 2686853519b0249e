//! What became of the workers of a group: who died, who left, who is slow. Whoever waits looks here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::SharedMemory;
use parking_lot::{Condvar, Mutex};

use crate::call::Call;
use crate::engine::shared_memory::ring_bell;
use oarlock_net::{Closer, now};

/// How long one who lost a connection waits to hear who died: the neighbour that broke off may only be the first to have noticed.
const VERDICT: Duration = Duration::from_secs(3);

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Its process ended.
    Died,
    /// Nothing was heard of it for so long.
    Silent,
    /// It said that it leaves.
    Left,
}

/// What became of the workers of a group.
pub(crate) struct Fate {
    me: usize,
    endpoints: Vec<String>,
    verdict: Mutex<Option<(usize, End)>>,
    decided: Condvar,
    /// A verdict is there, or somebody has left.
    news: AtomicBool,
    /// All who are known to have died; who died first is the verdict.
    dead: Mutex<Vec<usize>>,
    /// In the order in which they left: the others leave because the first did.
    left: Mutex<Vec<usize>>,
    /// Exchanges that this worker has begun.
    pub(crate) calls: AtomicU64,
    /// The worker that has begun the fewest, and how many.
    slowest: Mutex<Option<(usize, u64)>>,
    closers: Mutex<Vec<Closer>>,
    memory: Mutex<Option<Arc<SharedMemory>>>,
}

impl Fate {
    pub(crate) fn new(me: usize, endpoints: Vec<String>) -> Fate {
        Fate {
            me,
            endpoints,
            verdict: Mutex::default(),
            decided: Condvar::new(),
            news: AtomicBool::new(false),
            dead: Mutex::default(),
            left: Mutex::default(),
            calls: AtomicU64::new(0),
            slowest: Mutex::default(),
            closers: Mutex::default(),
            memory: Mutex::default(),
        }
    }

    /// Who waits in this memory, or for this connection, is woken when somebody dies.
    pub(crate) fn wakes(&self, memory: Option<Arc<SharedMemory>>, closers: Vec<Closer>) {
        *self.memory.lock() = memory;
        *self.closers.lock() = closers;
    }

    /// A worker, as messages name it.
    pub(crate) fn name(&self, rank: usize) -> String {
        format!("rank {rank} ({})", self.endpoints.get(rank).map_or("?", String::as_str))
    }

    /// This worker.
    pub(crate) fn own(&self) -> String {
        format!("rank {}", self.me)
    }

    /// A worker ended. The first that dies is the one that everybody names.
    pub(crate) fn ended(&self, rank: usize, end: End) {
        self.decide(rank, end);
        self.publish(end);
    }

    /// Notes that a worker ended; nobody who waits here learns it before [`Fate::publish`]. False if another died before.
    pub(crate) fn decide(&self, rank: usize, end: End) -> bool {
        if end == End::Left {
            self.left.lock().push(rank);
            return true;
        }
        self.dead.lock().push(rank);
        let mut verdict = self.verdict.lock();
        let first = verdict.is_none();
        verdict.get_or_insert((rank, end));
        first
    }

    /// Wakes those who wait here.
    pub(crate) fn publish(&self, end: End) {
        self.news.store(true, Ordering::Release);
        if end != End::Left {
            let _verdict = self.verdict.lock();
            self.decided.notify_all();
        }
        if let Some(memory) = &*self.memory.lock() {
            ring_bell(memory);
        }
        // What one who left has sent is still to be read.
        if end != End::Left {
            self.closers.lock().iter().for_each(Closer::close);
        }
    }

    /// Who died, if somebody did.
    pub(crate) fn verdict(&self) -> Option<(usize, End)> {
        *self.verdict.lock()
    }

    /// Who died, and who left.
    pub(crate) fn lost(&self) -> Vec<usize> {
        let mut lost = self.dead.lock().clone();
        lost.extend(self.left.lock().iter());
        lost
    }

    pub(crate) fn has_left(&self, rank: usize) -> bool {
        self.left.lock().contains(&rank)
    }

    pub(crate) fn note_slowest(&self, rank: usize, calls: u64) {
        *self.slowest.lock() = Some((rank, calls));
    }

    /// Fails if somebody died, or if `rank`, for whom this worker waits, has left.
    pub(crate) fn check(&self, rank: usize, call: &Call<'_>) -> Result<()> {
        if !self.news.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.verdict() {
            Some((who, end)) => Err(self.gone(who, end, call)),
            None if self.has_left(rank) => Err(self.gone(rank, End::Left, call)),
            None => Ok(()),
        }
    }

    /// The connection to `rank` broke: who is to blame?
    pub(crate) fn broken(&self, rank: usize, call: &Call<'_>) -> Error {
        if self.has_left(rank) {
            return self.gone(rank, End::Left, call);
        }
        let mut verdict = self.verdict.lock();
        let until = now() + VERDICT;
        while verdict.is_none() || !self.news.load(Ordering::Acquire) {
            if self.decided.wait_until(&mut verdict, until).timed_out() {
                break;
            }
        }
        let (who, end) = verdict.unwrap_or((rank, End::Died));
        drop(verdict);
        self.gone(who, end, call)
    }

    #[cold]
    fn gone(&self, rank: usize, end: End, call: &Call<'_>) -> Error {
        let rank = match end {
            End::Left => self.left.lock().first().copied().unwrap_or(rank),
            _ => rank,
        };
        let (who, me) = (self.name(rank), self.own());
        let (how, help) = match end {
            End::Died => ("has died", "look at the log of that process"),
            End::Silent => ("is silent", "its machine or the network failed; look at the log of that process"),
            End::Left => (
                "has left",
                "give all workers as many batches, or let one that runs out take part without weight (the default of \
                 `Executor.close` and `fleet.stop_worker`)",
            ),
        };
        Error::new(Kind::Network, format!("{who} {how}: {me} waits for it in {call}")).help(help)
    }

    #[cold]
    pub(crate) fn too_late(&self, rank: usize, call: &Call<'_>) -> Error {
        let begun = self.calls.load(Ordering::Relaxed);
        let who = match *self.slowest.lock() {
            Some((slowest, calls)) if calls < begun => slowest,
            _ => rank,
        };
        let what = format!("{} did not come to {call} in time: {} waits for it", self.name(who), self.own());
        Error::new(Kind::Network, what)
            .help("it is alive, but busy, stopped or in another place of its script; FLAGS_rpc_deadline (milliseconds) sets how long to wait")
    }
}
