//! The failure state of a group: which ranks died or left, and which is slow. Ranks that wait in an exchange check it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::SharedMemory;
use parking_lot::{Condvar, Mutex};

use crate::call::Call;
use crate::engine::shared_memory::ring_bell;
use oarlock_net::{Closer, now};

/// How long a rank that lost a connection waits for the coordinator to name the dead rank: the neighbour that closed it may only have
/// been the first to notice.
const VERDICT: Duration = Duration::from_secs(3);

/// The end of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Its process ended.
    Died,
    /// It sent no heartbeat for the heartbeat timeout.
    Silent,
    /// It left the group.
    Left,
}

/// The failure state of the ranks of a group.
pub(crate) struct FailureState {
    me: usize,
    endpoints: Vec<String>,
    verdict: Mutex<Option<(usize, End)>>,
    decided: Condvar,
    /// There is a verdict, or a rank has left.
    news: AtomicBool,
    /// All ranks known to have died; the first is the verdict.
    dead: Mutex<Vec<usize>>,
    /// Ranks in the order in which they left: the others leave because the first did.
    left: Mutex<Vec<usize>>,
    /// The number of exchanges that this rank has begun.
    pub(crate) calls: AtomicU64,
    /// The rank that has begun the fewest exchanges, and their number.
    slowest: Mutex<Option<(usize, u64)>>,
    closers: Mutex<Vec<Closer>>,
    memory: Mutex<Option<Arc<SharedMemory>>>,
}

impl FailureState {
    pub(crate) fn new(me: usize, endpoints: Vec<String>) -> FailureState {
        FailureState {
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

    /// Sets the shared memory and the connections in which this rank waits: a death wakes it there.
    pub(crate) fn wakes(&self, memory: Option<Arc<SharedMemory>>, closers: Vec<Closer>) {
        *self.memory.lock() = memory;
        *self.closers.lock() = closers;
    }

    /// The name of a rank in messages.
    pub(crate) fn name(&self, rank: usize) -> String {
        format!("rank {rank} ({})", self.endpoints.get(rank).map_or("?", String::as_str))
    }

    /// The name of this rank in messages.
    pub(crate) fn own(&self) -> String {
        format!("rank {}", self.me)
    }

    /// Records the end of a rank and wakes waiting ranks. The first that dies is the one that all ranks name.
    pub(crate) fn ended(&self, rank: usize, end: End) {
        self.decide(rank, end);
        self.publish(end);
    }

    /// Records the end of a rank; waiting threads see it after [`FailureState::publish`]. False if another died before.
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

    /// Wakes the threads that wait.
    pub(crate) fn publish(&self, end: End) {
        self.news.store(true, Ordering::Release);
        if end != End::Left {
            let _verdict = self.verdict.lock();
            self.decided.notify_all();
        }
        if let Some(memory) = &*self.memory.lock() {
            ring_bell(memory);
        }
        // Messages of a rank that left are still to be read.
        if end != End::Left {
            self.closers.lock().iter().for_each(Closer::close);
        }
    }

    /// The first dead rank, if there is one.
    pub(crate) fn verdict(&self) -> Option<(usize, End)> {
        *self.verdict.lock()
    }

    /// The ranks that died or left.
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

    /// Fails if a rank died, or if `rank`, which this rank waits for, has left.
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

    /// The error after the connection to `rank` broke; it names the rank that died first.
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
                "give all ranks the same number of batches, or let one without data take part with weight 0 (the default of \
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
        let what = format!("{} did not reach {call} in time: {} waits for it", self.name(who), self.own());
        Error::new(Kind::Network, what)
            .help("it is alive, but busy, stopped or elsewhere in its script; FLAGS_rpc_deadline (milliseconds) sets how long to wait")
    }
}
