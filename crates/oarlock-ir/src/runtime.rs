//! Resources that operators find while they run.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_tensor::{Pool, rng};
use parking_lot::Mutex;

use crate::next_batch::NextBatches;
use crate::replica::Replica;

/// Threads, and what the operators of a process share: an executor holds one, and two of them know nothing of each other.
pub struct Runtime {
    pool: Pool,
    stop: Arc<AtomicBool>,
    /// The state of the sequence of seeds; `None` for seeds by chance.
    seeds: Arc<Mutex<Option<u64>>>,
    shared: Arc<Shared>,
    replica: Option<Replica>,
}

/// The resources of a runtime that all threads share.
#[derive(Default)]
struct Shared {
    /// The name of this process among those it works with, for messages: `trainer 1`.
    label: Mutex<Option<String>>,
    next_batches: NextBatches,
    exec: Slot,
    servers: Slot,
    groups: Slot,
}

/// The state that a crate above this one keeps in a [`Runtime`]. The slot belongs to one crate, which stores one type in it.
#[derive(Default)]
pub struct Slot(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl Slot {
    /// The state; made when it is first asked for.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut slot = self.0.lock();
        let state = slot.get_or_insert_with(|| Arc::new(make())).clone();
        drop(slot);
        state.downcast().unwrap_or_else(|_| unreachable!("the slot belongs to one crate, which stores one type"))
    }
}

impl Runtime {
    /// With `threads` compute threads.
    pub fn new(threads: usize) -> Runtime {
        Runtime {
            pool: Pool::new(threads),
            stop: Arc::default(),
            seeds: Arc::default(),
            shared: Arc::default(),
            replica: None,
        }
    }

    /// The same resources and the same stop flag for a thread whose kernels run on that thread alone: where several threads run
    /// programs at once, there are no others to help.
    pub fn inline(&self) -> Runtime {
        Runtime {
            pool: Pool::new(1),
            stop: self.stop.clone(),
            seeds: self.seeds.clone(),
            shared: self.shared.clone(),
            replica: None,
        }
    }

    /// The same for a replica of a run, with a sequence of seeds of its own: in what order replicas draw does not matter.
    pub fn of_replica(&self, replica: Replica) -> Runtime {
        Runtime { replica: Some(replica), seeds: Arc::default(), ..self.inline() }
    }

    /// The replica of a run that computes here; `None` if there are no others.
    pub fn replica(&self) -> Option<&Replica> {
        self.replica.as_ref()
    }

    /// Threads to compute with.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Set it to make runs stop before their next operator.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Should runs stop?
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A seed for an operator that was given none.
    pub fn fresh_seed(&self) -> u64 {
        match &mut *self.seeds.lock() {
            Some(state) => rng::next_seed(state),
            None => rng::fresh_seed(),
        }
    }

    /// The state of the sequence of fresh seeds; `None` if they come by chance.
    pub fn seeds(&self) -> Option<u64> {
        *self.seeds.lock()
    }

    /// Draws fresh seeds from a sequence from now on, so that a run that goes on later draws as if it had not stopped.
    pub fn set_seeds(&self, state: Option<u64>) {
        *self.seeds.lock() = state;
    }

    /// The name of this process among those it works with, for messages; empty if it works alone.
    pub fn label(&self) -> String {
        self.shared.label.lock().clone().unwrap_or_default()
    }

    /// Names this process, unless it has a name.
    pub fn set_label(&self, label: impl FnOnce() -> String) {
        self.shared.label.lock().get_or_insert_with(label);
    }

    /// The next batch of each thread.
    pub fn next_batches(&self) -> &NextBatches {
        &self.shared.next_batches
    }

    /// The state of `oarlock-exec`: threads of replicas, a profile that several executors record.
    pub fn exec(&self) -> &Slot {
        &self.shared.exec
    }

    /// The state of `oarlock-ps`: the connection to parameter servers, and the communicator.
    pub fn servers(&self) -> &Slot {
        &self.shared.servers
    }

    /// The state of `oarlock-collective`: the groups that this process belongs to.
    pub fn groups(&self) -> &Slot {
        &self.shared.groups
    }
}
