//! The batch after the one in use, for whoever can use it early: a trainer that asks servers for rows ahead of time.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use oarlock_ir::Name;
use oarlock_tensor::Tensor;
use parking_lot::Mutex;

/// Whoever knows what a thread will be given next.
pub trait PeekBatch: Send {
    /// Shows the tensors of these names in the next batch, if it is there already and has them all: nobody waits for it. The
    /// batch is given out later as if nobody had looked, and so is an error.
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor]));
}

/// Where the next batch of each thread comes from. A resource of a [`Runtime`](oarlock_ir::Runtime).
#[derive(Default)]
pub struct NextBatch(Mutex<HashMap<ThreadId, Arc<Mutex<dyn PeekBatch>>>>);

impl NextBatch {
    /// The calling thread gets its next batch from here, until it says otherwise.
    pub fn set(&self, next: Arc<Mutex<dyn PeekBatch>>) {
        self.0.lock().insert(thread::current().id(), next);
    }

    /// Nobody knows any more what the calling thread gets next.
    pub fn clear(&self) {
        self.0.lock().remove(&thread::current().id());
    }

    /// Whoever knows what the calling thread gets next.
    pub fn get(&self) -> Option<Arc<Mutex<dyn PeekBatch>>> {
        self.0.lock().get(&thread::current().id()).cloned()
    }
}
