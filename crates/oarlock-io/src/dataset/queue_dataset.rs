//! A data set streamed from files: every consumer has a thread that reads and parses for it, and a queue of batches between.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;

use super::batch::{Batch, BatchSource, Dataset, Pass};
use super::channel::Channel;
use super::column::Columns;
use super::input::pipe::Cancel;
use super::input::source::Source;
use super::parse::file_rows::{Block, FileRows, Job, Progress};
use super::parse::multislot::Format;
use super::slots::SlotSpec;

/// A data set that is read while it is used. All values are kept, zeros too.
#[derive(Debug, Clone)]
pub struct QueueDataset {
    /// Where it comes from.
    pub source: Source,
    /// The format of its lines.
    pub format: Format,
    /// Samples per batch. The last batch of each reader can be smaller.
    pub batch_size: usize,
    /// Batches that are kept ready for each consumer. With the one being parsed and the one in use, this bounds the memory.
    pub queue: usize,
}

/// A data set being read.
pub struct QueueRun {
    readers: Vec<QueueReader>,
    progress: Arc<Progress>,
}

impl QueueDataset {
    /// Starts to read for `consumers` threads; fewer if there are fewer files, because a file is read by one thread.
    /// Files are taken in order by the next free reader; with one consumer the order of batches is always the same.
    ///
    /// Set `stop` to end all readers soon.
    pub fn start(&self, consumers: usize, stop: Arc<AtomicBool>) -> Result<QueueRun> {
        self.format.check()?;
        if self.batch_size == 0 {
            return Err(Error::new(Kind::Argument, "a batch cannot have 0 samples"));
        }
        let files = self.source.expand()?;
        let progress = Arc::<Progress>::default();
        progress.expect(&files);
        let readers = consumers.clamp(1, files.len());
        let job = Job { source: self.source.clone(), format: self.format.clone(), progress: progress.clone(), stop };
        let shared = Arc::new(Shared { job, files, next: AtomicUsize::new(0), failure: Mutex::default() });
        let readers = (0..readers).map(|i| self.start_reader(i, &shared)).collect::<Result<_>>()?;
        Ok(QueueRun { readers, progress })
    }

    fn start_reader(&self, index: usize, shared: &Arc<Shared>) -> Result<QueueReader> {
        let channel = Arc::new(Channel::new(self.queue));
        let cancel = Arc::<Cancel>::default();
        let worker = ReadThread {
            shared: shared.clone(),
            channel: channel.clone(),
            cancel: cancel.clone(),
            batch_size: self.batch_size,
        };
        let thread = thread::Builder::new()
            .name(format!("oarlock-read-{index}"))
            .spawn(move || worker.run())
            .map_err(|e| Error::new(Kind::Io, format!("cannot start a thread that reads: {e}")))?;
        Ok(QueueReader { shared: shared.clone(), channel, cancel, thread: Some(thread) })
    }
}

impl Dataset for QueueDataset {
    fn slots(&self) -> &[SlotSpec] {
        &self.format.slots
    }

    fn begin(&self, consumers: usize, stop: Arc<AtomicBool>) -> Result<Pass> {
        let mut run = self.start(consumers, stop)?;
        let sources = run.take_readers().into_iter().map(|r| Box::new(r) as Box<dyn BatchSource>).collect();
        Ok(Pass { sources, progress: run.progress(), samples: None })
    }
}

impl QueueRun {
    /// The sources of batches, one per consumer. Dropping one ends its thread and the command it runs.
    pub fn take_readers(&mut self) -> Vec<QueueReader> {
        std::mem::take(&mut self.readers)
    }

    /// The progress of reading.
    pub fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }
}

/// The state that the readers of a run share.
struct Shared {
    job: Job,
    files: Vec<String>,
    /// The next file to read.
    next: AtomicUsize,
    /// Why the run failed: what the first reader that failed says.
    failure: Mutex<Option<Error>>,
}

impl Shared {
    fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
    }

    fn failed(&self) -> bool {
        self.failure.lock().is_some()
    }
}

/// The thread behind a reader.
struct ReadThread {
    shared: Arc<Shared>,
    channel: Arc<Channel<Batch>>,
    cancel: Arc<Cancel>,
    batch_size: usize,
}

impl ReadThread {
    fn run(self) {
        let done = panic::catch_unwind(AssertUnwindSafe(|| self.read_files()));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.shared.fail(error),
            Err(_) => self.shared.fail(Error::internal("a thread that reads the dataset panicked")),
        }
        self.channel.close();
    }

    fn read_files(&self) -> Result<()> {
        let Shared { job, files, next, .. } = &*self.shared;
        let mut columns = job.format.columns();
        let mut block = Block::default();
        while let Some(name) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut rows = FileRows::open(job, name, &mut block, &self.cancel)?;
            while rows.read(&mut columns, self.batch_size)? {
                if !self.send(&mut columns)? {
                    return Ok(());
                }
            }
        }
        if columns.rows() > 0 {
            self.send(&mut columns)?;
        }
        Ok(())
    }

    /// Queues the rows as a batch; false when no more are wanted.
    fn send(&self, columns: &mut Columns) -> Result<bool> {
        let mut batch = self.channel.take_empty().unwrap_or_default();
        columns.take(&self.shared.job.format.slots, &mut batch)?;
        Ok(self.channel.push(batch, &self.shared.job.stop) && !self.shared.failed())
    }
}

/// One consumer's end of a [`QueueRun`].
pub struct QueueReader {
    shared: Arc<Shared>,
    channel: Arc<Channel<Batch>>,
    cancel: Arc<Cancel>,
    thread: Option<JoinHandle<()>>,
}

impl BatchSource for QueueReader {
    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.channel.swap(batch, &self.shared.job.stop, || self.shared.failed()) {
            return Ok(true);
        }
        self.shared.job.check_stop()?;
        self.shared.failure.lock().clone().map_or(Ok(false), Err)
    }

    fn try_next(&mut self, batch: &mut Batch) -> Result<bool> {
        Ok(self.channel.try_swap(batch))
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        self.channel.close();
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic inside was caught and is the run's failure.
            thread.join().ok();
        }
    }
}
