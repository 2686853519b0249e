//! The batch after the one in use, for prefetching: a trainer asks servers for its rows before they are needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use oarlock_ir::Name;
use oarlock_tensor::Tensor;
use parking_lot::Mutex;

/// A source of batches that can show the next one early.
pub trait PeekBatch: Send {
    /// Shows the tensors of these names in the next batch, if it is there already and has them all, without waiting. The
    /// batch is given out later all the same, and so is an error.
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor]));
}

/// The source of the next batch of each thread. A resource of a [`Runtime`](oarlock_ir::Runtime).
#[derive(Default)]
pub struct NextBatch(Mutex<HashMap<ThreadId, Arc<Mutex<dyn PeekBatch>>>>);

impl NextBatch {
    /// Sets the source of the calling thread's next batch.
    pub fn set(&self, next: Arc<Mutex<dyn PeekBatch>>) {
        self.0.lock().insert(thread::current().id(), next);
    }

    /// Forgets the source of the calling thread.
    pub fn clear(&self) {
        self.0.lock().remove(&thread::current().id());
    }

    /// The source of the calling thread's next batch.
    pub fn get(&self) -> Option<Arc<Mutex<dyn PeekBatch>>> {
        self.0.lock().get(&thread::current().id()).cloned()
    }
}
