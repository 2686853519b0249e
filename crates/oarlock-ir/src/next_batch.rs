//! Prefetch: the batch after the one in use, for operators that can use it early. A trainer asks parameter servers for the rows of the
//! next batch while it sends the gradients of this one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use oarlock_tensor::Tensor;
use parking_lot::Mutex;

use crate::name::Name;

/// A source of batches that can show the next one before it is taken.
pub trait NextBatch: Send {
    /// Shows the tensors of these names in the next batch, if it is there already and has them all; it never waits. The batch is
    /// given out later as if it had not been shown, and so is an error.
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor]));
}

/// The source of each thread's next batch.
#[derive(Default)]
pub struct NextBatches {
    sources: Mutex<HashMap<ThreadId, Arc<Mutex<dyn NextBatch>>>>,
    wanted: AtomicBool,
}

impl NextBatches {
    /// An operator of this process looks at next batches.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Does an operator look at next batches? A source that costs something need not be set otherwise.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The calling thread takes its batches from this source, until [`NextBatches::clear`].
    pub fn set(&self, next: Arc<Mutex<dyn NextBatch>>) {
        self.sources.lock().insert(thread::current().id(), next);
    }

    /// The next batch of the calling thread is unknown from now on.
    pub fn clear(&self) {
        self.sources.lock().remove(&thread::current().id());
    }

    /// The source of the calling thread, if it has one.
    pub fn get(&self) -> Option<Arc<Mutex<dyn NextBatch>>> {
        self.sources.lock().get(&thread::current().id()).cloned()
    }
}
