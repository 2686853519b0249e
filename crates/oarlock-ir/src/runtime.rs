//! Resources that operators find while they run.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_tensor::Pool;
use parking_lot::Mutex;

/// Threads, and whatever else operators share: an executor holds one, and two of them know nothing of each other.
pub struct Runtime {
    pool: Pool,
    stop: Arc<AtomicBool>,
    resources: Arc<Mutex<Resources>>,
}

type Resources = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Runtime {
    /// With so many compute threads.
    pub fn new(threads: usize) -> Runtime {
        Runtime { pool: Pool::new(threads), stop: Arc::default(), resources: Arc::default() }
    }

    /// The same resources and the same stop flag for a thread whose kernels run on that thread alone: where several threads run
    /// programs at once, there are no others to help.
    pub fn inline(&self) -> Runtime {
        Runtime { pool: Pool::new(1), stop: self.stop.clone(), resources: self.resources.clone() }
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

    /// The resource of type `T`, if somebody provided one.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let found = self.resources.lock().get(&TypeId::of::<T>()).cloned()?;
        found.downcast().ok()
    }

    /// Provides the resource of type `T`, replacing an earlier one.
    pub fn provide<T: Any + Send + Sync>(&self, resource: Arc<T>) {
        self.resources.lock().insert(TypeId::of::<T>(), resource);
    }
}
