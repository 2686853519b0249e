//! Prefetch: threads that read items before they are asked for, a bounded queue, and an orderly end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::Tensor;

use super::peek_queue::PeekQueue;
use super::{ReaderVar, TensorReader};

/// The queue into which a thread puts the items it has read.
pub(crate) struct Out(SyncSender<Result<Vec<Tensor>>>);

impl Out {
    /// Returns false when no more items are wanted.
    pub(crate) fn put(&self, item: Result<Vec<Tensor>>) -> bool {
        self.0.send(item).is_ok()
    }
}

/// A pass that threads prefetch.
pub(crate) struct Prefetch {
    items: Option<PeekQueue<Result<Vec<Tensor>>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Prefetch {
    /// Starts a thread for each of `works`, which put at most `capacity` items before one is taken. A work gets a flag that says
    /// when to end.
    pub(crate) fn start<W>(capacity: usize, works: impl IntoIterator<Item = W>) -> Result<Prefetch>
    where
        W: FnOnce(&Out, &AtomicBool) + Send + 'static,
    {
        let (sender, items) = sync_channel(capacity.max(1));
        let mut pass = Prefetch { items: Some(PeekQueue::new(items)), stop: Arc::default(), threads: Vec::new() };
        for work in works {
            let (out, stop) = (Out(sender.clone()), pass.stop.clone());
            let thread = thread::Builder::new().name("oarlock-reader".into()).spawn(move || work(&out, &stop));
            let cannot = |e| Error::new(Kind::Io, format!("cannot start a thread that reads: {e}"));
            pass.threads.push(thread.map_err(cannot)?);
        }
        Ok(pass)
    }

    pub(crate) fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        match &mut self.items {
            Some(items) => items.receive(stop)?.transpose(),
            None => Ok(None),
        }
    }

    pub(crate) fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(Ok(tensors)) = self.items.as_mut().and_then(PeekQueue::peek) {
            look(tensors);
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Threads that wait for room in the queue notice that it is gone.
        self.items = None;
        for thread in self.threads.drain(..) {
            // A panic inside has ended the pass early; no reader is left to report it.
            thread.join().ok();
        }
    }
}

/// Something that threads can read pass by pass.
pub(crate) trait PrefetchSource: Send {
    /// Starts the threads of a pass.
    fn start(&self) -> Result<Prefetch>;

    /// Goes back to the beginning, after the threads have ended.
    fn reset(&mut self) -> Result<()>;
}

/// A reader whose threads start with the first item that is asked for, and end with the pass.
pub(crate) struct PrefetchReader<S> {
    source: S,
    pass: Option<Prefetch>,
}

impl<S: PrefetchSource> PrefetchReader<S> {
    pub(crate) fn new(source: S) -> PrefetchReader<S> {
        PrefetchReader { source, pass: None }
    }
}

impl<S: PrefetchSource> TensorReader for PrefetchReader<S> {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        if self.pass.is_none() {
            self.pass = Some(self.source.start()?);
        }
        self.pass.as_mut().map_or(Ok(None), |pass| pass.next(stop))
    }

    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(pass) = &mut self.pass {
            pass.peek(look);
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.pass = None;
        self.source.reset()
    }

    fn prefetches(&self) -> bool {
        true
    }
}

/// Another reader, prefetched by one thread: `double_buffer`.
pub(crate) struct DoubleBuffer(pub(crate) ReaderVar);

/// Batches that are kept ready besides the one in use.
const READY: usize = 2;

impl PrefetchSource for DoubleBuffer {
    fn start(&self) -> Result<Prefetch> {
        let mut inner = self.0.clone();
        let work = move |out: &Out, stop: &AtomicBool| {
            while let Some(item) = inner.next(stop).transpose() {
                let failed = item.is_err();
                if !out.put(item) || failed {
                    return;
                }
            }
        };
        Prefetch::start(READY, [work])
    }

    fn reset(&mut self) -> Result<()> {
        self.0.reset()
    }
}
