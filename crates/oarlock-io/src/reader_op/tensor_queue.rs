//! A queue of batches that is filled from outside: the reader behind `py_reader` and loaders that are started.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, sync_channel};

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use super::TensorReader;
use super::peek_queue::PeekQueue;

/// A bounded queue of batches. One thread fills it, pass by pass, and a program's `read` empties it. Copies are one queue.
#[derive(Clone)]
pub struct TensorQueue(Arc<Inner>);

struct Inner {
    capacity: usize,
    fill: Mutex<Option<SyncSender<Vec<Tensor>>>>,
    take: Mutex<Option<PeekQueue<Vec<Tensor>>>>,
    /// Why the pass ended early.
    failure: Mutex<Option<Error>>,
}

impl TensorQueue {
    /// A queue that is not open yet.
    pub fn new(capacity: usize) -> TensorQueue {
        let inner = Inner {
            capacity: capacity.max(1),
            fill: Mutex::default(),
            take: Mutex::default(),
            failure: Mutex::default(),
        };
        TensorQueue(Arc::new(inner))
    }

    /// Opens it for a pass. What is left of the last one is dropped.
    pub fn start(&self) {
        let (fill, take) = sync_channel(self.0.capacity);
        *self.0.failure.lock() = None;
        *self.0.fill.lock() = Some(fill);
        *self.0.take.lock() = Some(PeekQueue::new(take));
    }

    /// Appends a batch, waiting for room; false if it is not wanted any more.
    pub fn push(&self, batch: Vec<Tensor>) -> bool {
        let fill = self.0.fill.lock().clone();
        fill.is_some_and(|fill| fill.send(batch).is_ok())
    }

    /// There will be no more batches in this pass.
    pub fn close(&self) {
        *self.0.fill.lock() = None;
    }

    /// There will be no more batches because of an error, which the next `read` returns.
    pub fn fail(&self, why: Error) {
        *self.0.failure.lock() = Some(why);
        self.close();
    }

    /// Ends the pass at once; a thread that waits to append returns false.
    pub fn reset(&self) {
        self.close();
        *self.0.take.lock() = None;
    }

    /// How many batches may wait in it.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// The queue that a variable holds.
    pub fn of(value: &Value) -> Option<&TensorQueue> {
        match value {
            Value::Opaque(object) => object.downcast_ref(),
            _ => None,
        }
    }

    /// The value of a variable that holds it.
    pub fn into_value(self) -> Value {
        Value::Opaque(Box::new(self))
    }
}

impl TensorReader for TensorQueue {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        match &mut *self.0.take.lock() {
            Some(take) => match (take.receive(stop)?, &*self.0.failure.lock()) {
                (None, Some(why)) => Err(why.clone()),
                (batch, _) => Ok(batch),
            },
            None => Err(Error::new(Kind::Argument, "the program reads from a reader that is not started")
                .help("call start() of the reader before a pass, and reset() after it")),
        }
    }

    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(tensors) = self.0.take.lock().as_mut().and_then(PeekQueue::peek) {
            look(tensors);
        }
    }

    fn reset(&mut self) -> Result<()> {
        TensorQueue::reset(self);
        Ok(())
    }

    fn prefetches(&self) -> bool {
        true
    }
}
