//! Resources that operators find while they run.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_tensor::{Pool, rng};
use parking_lot::Mutex;

use crate::error::Result;
use crate::replica::Replica;

/// Threads, and whatever else operators share: an executor holds one, and two of them know nothing of each other.
pub struct Runtime {
    pool: Pool,
    stop: Arc<AtomicBool>,
    /// Where a sequence of seeds stands; `None` for seeds by chance.
    seeds: Arc<Mutex<Option<u64>>>,
    resources: Arc<Mutex<Resources>>,
    between: Arc<Mutex<Option<Between>>>,
    has_between: Arc<AtomicBool>,
    replica: Option<Replica>,
}

/// Who this process is among those it works with, for messages: `trainer 1`. A resource of a [`Runtime`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank(pub String);

type Resources = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Work between two runs.
type Between = Arc<dyn Fn() -> Result<()> + Send + Sync>;

impl Runtime {
    /// With `threads` compute threads.
    pub fn new(threads: usize) -> Runtime {
        Runtime {
            pool: Pool::new(threads),
            stop: Arc::default(),
            seeds: Arc::default(),
            resources: Arc::default(),
            between: Arc::default(),
            has_between: Arc::default(),
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
            resources: self.resources.clone(),
            between: self.between.clone(),
            has_between: self.has_between.clone(),
            replica: None,
        }
    }

    /// The same for a replica of a run, with a sequence of seeds of its own: in what order replicas draw does not matter.
    pub fn of_replica(&self, replica: Replica) -> Runtime {
        Runtime { replica: Some(replica), seeds: Arc::default(), ..self.inline() }
    }

    /// Which replica of a run computes here; `None` if there are no others.
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

    /// Does this before every run, while no variable is locked: threads that work beside training put their results in place.
    pub fn set_between_runs(&self, work: Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>) {
        self.has_between.store(work.is_some(), Ordering::Release);
        *self.between.lock() = work;
    }

    /// Does what is to be done between runs; runners call it before they lock variables.
    pub fn between_runs(&self) -> Result<()> {
        if !self.has_between.load(Ordering::Acquire) {
            return Ok(());
        }
        let work = self.between.lock().clone();
        work.map_or(Ok(()), |work| work())
    }

    /// A seed for an operator that was given none.
    pub fn fresh_seed(&self) -> u64 {
        match &mut *self.seeds.lock() {
            Some(state) => rng::next_seed(state),
            None => rng::fresh_seed(),
        }
    }

    /// Where the sequence of fresh seeds stands; `None` if they come by chance.
    pub fn seeds(&self) -> Option<u64> {
        *self.seeds.lock()
    }

    /// Draws fresh seeds from a sequence from now on, so that a run that goes on later draws as if it had not stopped.
    pub fn set_seeds(&self, state: Option<u64>) {
        *self.seeds.lock() = state;
    }

    /// The resource of type `T`, if one was provided.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let found = self.resources.lock().get(&TypeId::of::<T>()).cloned()?;
        found.downcast().ok()
    }

    /// The resource of type `T`; made if none was provided.
    pub fn get_or_provide<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut resources = self.resources.lock();
        let found = resources.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make())).clone();
        drop(resources);
        found.downcast().unwrap_or_else(|_| unreachable!("stored under its own type"))
    }

    /// Takes the resource of type `T` away, if there is one.
    pub fn withdraw<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let found = self.resources.lock().remove(&TypeId::of::<T>())?;
        found.downcast().ok()
    }

    /// Provides the resource of type `T`, replacing an earlier one.
    pub fn provide<T: Any + Send + Sync>(&self, resource: Arc<T>) {
        self.resources.lock().insert(TypeId::of::<T>(), resource);
    }
}
