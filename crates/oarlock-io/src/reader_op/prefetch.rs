//! Threads that read ahead of whoever takes: a bounded queue, and an orderly end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::Tensor;

use super::peek_queue::Items;
use super::{ReaderVar, TensorReader};

/// Where a thread puts what it has read; false when nobody wants more.
pub(crate) struct Out(SyncSender<Result<Vec<Tensor>>>);

impl Out {
    pub(crate) fn put(&self, item: Result<Vec<Tensor>>) -> bool {
        self.0.send(item).is_ok()
    }
}

/// A pass that threads read ahead.
pub(crate) struct Ahead {
    items: Option<Items<Result<Vec<Tensor>>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// Starts a thread for each of `works`, which put at most `capacity` items before one is taken. A work gets a flag that says
    /// when to end.
    pub(crate) fn start<W>(capacity: usize, works: impl IntoIterator<Item = W>) -> Result<Ahead>
    where
        W: FnOnce(&Out, &AtomicBool) + Send + 'static,
    {
        let (sender, items) = sync_channel(capacity.max(1));
        let mut ahead = Ahead { items: Some(Items::new(items)), stop: Arc::default(), threads: Vec::new() };
        for work in works {
            let (out, stop) = (Out(sender.clone()), ahead.stop.clone());
            let thread = thread::Builder::new().name("oarlock-reader".into()).spawn(move || work(&out, &stop));
            let cannot = |e| Error::new(Kind::Io, format!("cannot start a thread that reads: {e}"));
            ahead.threads.push(thread.map_err(cannot)?);
        }
        Ok(ahead)
    }

    pub(crate) fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        match &mut self.items {
            Some(items) => items.receive(stop)?.transpose(),
            None => Ok(None),
        }
    }

    pub(crate) fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(Ok(tensors)) = self.items.as_mut().and_then(Items::peek) {
            look(tensors);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Threads that wait for room in the queue notice that it is gone.
        self.items = None;
        for thread in self.threads.drain(..) {
            // A panic inside has ended the pass early; there is nobody left to tell.
            thread.join().ok();
        }
    }
}

/// Another reader, read ahead by a thread: `double_buffer`.
pub(crate) struct Buffered {
    inner: ReaderVar,
    ahead: Option<Ahead>,
}

/// Batches that are kept ready besides the one in use.
const READY: usize = 2;

impl Buffered {
    pub(crate) fn new(inner: ReaderVar) -> Buffered {
        Buffered { inner, ahead: None }
    }

    fn start(&self) -> Result<Ahead> {
        let mut inner = self.inner.clone();
        let work = move |out: &Out, stop: &AtomicBool| {
            while let Some(item) = inner.next(stop).transpose() {
                let failed = item.is_err();
                if !out.put(item) || failed {
                    return;
                }
            }
        };
        Ahead::start(READY, [work])
    }
}

impl TensorReader for Buffered {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        if self.ahead.is_none() {
            self.ahead = Some(self.start()?);
        }
        self.ahead.as_mut().map_or(Ok(None), |ahead| ahead.next(stop))
    }

    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(ahead) = &mut self.ahead {
            ahead.peek(look);
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.ahead = None;
        self.inner.reset()
    }

    fn reads_ahead(&self) -> bool {
        true
    }
}
