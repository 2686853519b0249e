//! A data set in memory: loaded once, shuffled, and read as often as wanted.

pub(super) mod budget;
pub(super) mod exchange;
pub(super) mod merge;
mod packed;
mod samples;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, Thread};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;

use super::batch::{Batch, BatchSource, Dataset, Pass};
use super::channel::GLANCE;
use super::column::Columns;
use super::input::pipe::Cancel;
use super::input::source::Source;
use super::parse::file_rows::{Block, FileRows, Job, Progress};
use super::parse::multislot::Format;
use super::random::mix;
use super::slots::SlotSpec;
use budget::{Budget, MemoryLimit};
use exchange::{Exchange, ShuffleBy, exchange};
use merge::{Merged, merge};
use packed::{pack, unpack};
use samples::{Address, Packer, Samples};

/// Rows that are parsed before they are packed: enough to use the parser well, few enough to stay in the cache.
const ROWS: usize = 256;

/// A data set that is loaded before it is used. As in Fluid, zeros in sparse slots are taken for padding and left
/// out; a slot that has nothing else gets a single 0.
pub struct InMemoryDataset {
    /// Where it comes from.
    pub source: Source,
    /// The format of its lines.
    pub format: Format,
    /// Samples per batch; the last batch can be smaller.
    pub batch_size: usize,
    /// How much memory it may take.
    pub limit: MemoryLimit,
    samples: Arc<Samples>,
    preload: Option<Preload>,
}

struct Preload {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(Samples, Loaded)>>,
}

/// A summary of loading. `Display` prints it in a line.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Samples in memory.
    pub samples: usize,
    /// Bytes they take.
    pub bytes: u64,
    /// The progress of reading, and its errors.
    pub progress: Arc<Progress>,
}

impl Loaded {
    /// Bytes in memory for each sample.
    pub fn bytes_per_sample(&self) -> f64 {
        self.bytes as f64 / self.samples.max(1) as f64
    }
}

impl std::fmt::Display for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = budget::Size(self.bytes);
        write!(f, "{} samples in {size} of memory, {:.1} bytes per sample", self.samples, self.bytes_per_sample())?;
        match self.progress.skipped() {
            0 => Ok(()),
            n => write!(f, "; {n} bad lines skipped"),
        }
    }
}

impl InMemoryDataset {
    /// A data set without samples yet.
    pub fn new(source: Source, format: Format, batch_size: usize, limit: MemoryLimit) -> InMemoryDataset {
        InMemoryDataset { source, format, batch_size, limit, samples: Arc::default(), preload: None }
    }

    /// Loads all files with `threads` threads, in place of what was loaded before. The order of the samples is that of the
    /// files, for any number of threads. Set `stop` to give up soon.
    pub fn load_into_memory(&mut self, threads: usize, stop: Arc<AtomicBool>) -> Result<Loaded> {
        self.release_memory();
        let load = self.prepare(threads, stop)?;
        let (samples, loaded) = load.run()?;
        self.samples = Arc::new(samples);
        Ok(loaded)
    }

    /// Loads in the background, while the samples of before are still in use. Both are in memory for some time.
    pub fn preload_into_memory(&mut self, threads: usize) -> Result<()> {
        if self.preload.is_some() {
            return Err(Error::new(Kind::Argument, "the dataset is being loaded already")
                .help("wait for it (`wait_preload_done`) before loading again"));
        }
        let stop = Arc::<AtomicBool>::default();
        let load = self.prepare(threads, stop.clone())?;
        let thread = thread::Builder::new().name("oarlock-preload".into()).spawn(move || load.run());
        let thread = thread.map_err(|e| Error::new(Kind::Io, format!("cannot start a thread that loads: {e}")))?;
        self.preload = Some(Preload { stop, thread });
        Ok(())
    }

    /// Waits for the end of a load in the background; its samples replace those of before.
    pub fn wait_preload_done(&mut self) -> Result<Loaded> {
        let Some(preload) = self.preload.take() else {
            return Err(Error::new(Kind::Argument, "the dataset is not being loaded")
                .help("start it with `preload_into_memory`"));
        };
        let done = preload.thread.join();
        let (samples, loaded) = done.map_err(|_| Error::internal("the thread that loads the dataset panicked"))??;
        self.samples = Arc::new(samples);
        Ok(loaded)
    }

    fn prepare(&self, threads: usize, stop: Arc<AtomicBool>) -> Result<Load> {
        self.format.check()?;
        if self.batch_size == 0 {
            return Err(Error::new(Kind::Argument, "a batch cannot have 0 samples"));
        }
        let files = self.source.expand()?;
        let job = Job { source: self.source.clone(), format: self.format.clone(), progress: Arc::default(), stop };
        let budget = Budget::new(self.limit, self.samples.bytes());
        Ok(Load { job, threads: threads.clamp(1, files.len()), files, budget })
    }

    /// Brings the samples of this trainer into an order that depends on the seed alone.
    pub fn local_shuffle(&mut self, seed: u64) {
        Arc::make_mut(&mut self.samples).shuffle(seed);
    }

    /// Deals the samples of all trainers out again and shuffles what arrives here. All trainers must call it; the seed may be the
    /// same for all of them. After an error the samples must be loaded again.
    pub fn global_shuffle(&mut self, peers: &mut dyn Exchange, by: ShuffleBy, seed: u64) -> Result<()> {
        let samples = Arc::unwrap_or_clone(std::mem::take(&mut self.samples));
        let budget = Budget::new(self.limit, samples.bytes());
        // Trainers with one seed would otherwise deal their k-th samples to the same trainer.
        let seed = mix(seed ^ mix(peers.trainer() as u64));
        let mut dealt = exchange(samples, &self.format, by, seed, peers, &budget)?;
        dealt.shuffle(seed);
        self.samples = Arc::new(dealt);
        Ok(())
    }

    /// Makes one sample of all that have the same line id, in the order of ids. With a `size`, groups of any other size are
    /// dropped; so are groups in which two samples fill the same sparse slot.
    pub fn merge_by_line_id(&mut self, size: Option<usize>) -> Result<Merged> {
        let budget = Budget::new(self.limit, self.samples.bytes());
        let (samples, merged) = merge(&self.samples, &self.format, size, &budget)?;
        self.samples = Arc::new(samples);
        Ok(merged)
    }

    /// The same samples as they are now, to read while this one goes on to be shuffled or loaded again. Nothing is copied.
    pub fn snapshot(&self) -> InMemoryDataset {
        InMemoryDataset {
            source: self.source.clone(),
            format: self.format.clone(),
            batch_size: self.batch_size,
            limit: self.limit,
            samples: self.samples.clone(),
            preload: None,
        }
    }

    /// Is a load in the background still going on?
    pub fn is_preloading(&self) -> bool {
        self.preload.as_ref().is_some_and(|p| !p.thread.is_finished())
    }

    /// Forgets all samples.
    pub fn release_memory(&mut self) {
        self.samples = Arc::default();
    }

    /// The number of samples in memory.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Is nothing loaded?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the samples take.
    pub fn bytes(&self) -> u64 {
        self.samples.bytes()
    }

    /// Sources of batches for `consumers` threads, for one pass. They take batches in turn; with one the order is always the
    /// same. Shuffling or loading in the meantime does not disturb them.
    pub fn readers(&self, consumers: usize) -> Vec<MemoryReader> {
        let next = Arc::new(AtomicUsize::new(0));
        let format = Arc::new(self.format.clone());
        let reader = |_| MemoryReader {
            samples: self.samples.clone(),
            columns: self.format.columns(),
            format: format.clone(),
            next: next.clone(),
            batch_size: self.batch_size,
        };
        (0..consumers.max(1)).map(reader).collect()
    }
}

impl Dataset for InMemoryDataset {
    fn slots(&self) -> &[SlotSpec] {
        &self.format.slots
    }

    fn begin(&self, consumers: usize, _stop: Arc<AtomicBool>) -> Result<Pass> {
        if self.is_empty() {
            return Err(Error::new(Kind::Argument, "the dataset holds no samples")
                .help("load it first (`load_into_memory`); after `release_memory`, load it again"));
        }
        let readers = self.readers(consumers.min(self.len().div_ceil(self.batch_size)));
        let sources = readers.into_iter().map(|r| Box::new(r) as Box<dyn BatchSource>).collect();
        Ok(Pass { sources, progress: Arc::default(), samples: Some(self.len() as u64) })
    }
}

impl Drop for InMemoryDataset {
    fn drop(&mut self) {
        if let Some(preload) = self.preload.take() {
            preload.stop.store(true, Ordering::Relaxed);
            // No caller is left to report its error to.
            preload.thread.join().ok();
        }
    }
}

/// One consumer's share of the samples in memory.
pub struct MemoryReader {
    samples: Arc<Samples>,
    format: Arc<Format>,
    columns: Columns,
    /// The next batch, counted over all consumers.
    next: Arc<AtomicUsize>,
    batch_size: usize,
}

impl BatchSource for MemoryReader {
    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        let start = self.next.fetch_add(1, Ordering::Relaxed).saturating_mul(self.batch_size);
        let Some(rest) = self.samples.order.get(start..).filter(|rest| !rest.is_empty()) else { return Ok(false) };
        // There may be rows left of a batch that failed.
        self.columns.clear();
        for at in &rest[..rest.len().min(self.batch_size)] {
            unpack(&self.format.slots, self.samples.get(*at), &mut self.columns)?;
        }
        self.columns.take(&self.format.slots, batch)?;
        Ok(true)
    }

    fn try_next(&mut self, batch: &mut Batch) -> Result<bool> {
        // Samples in memory need no waiting.
        self.next(batch)
    }
}

/// A load: everything that its threads need.
struct Load {
    job: Job,
    files: Vec<String>,
    threads: usize,
    budget: Budget,
}

/// The samples that a thread has loaded: the bytes, and for each of its files the samples in it.
type Share<'a> = (Packer<'a>, Vec<(usize, Vec<Address>)>);

impl Load {
    fn run(&self) -> Result<(Samples, Loaded)> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let working = Working { threads: AtomicUsize::new(self.threads), waiting: thread::current() };
        let cancels: Vec<Arc<Cancel>> = (0..self.threads).map(|_| Arc::default()).collect();
        let load = |cancel: &Arc<Cancel>| {
            let _done = Done(&working);
            let share = self.load_files(cancel, &next, &failure);
            share.map_err(|e| _ = failure.lock().get_or_insert(e)).ok()
        };
        let shares: Vec<Option<Share<'_>>> = thread::scope(|scope| {
            let threads: Vec<_> = cancels.iter().map(|cancel| scope.spawn(|| load(cancel))).collect();
            while working.threads.load(Ordering::Acquire) > 0 {
                // A command may never write another byte, so another thread must be there to end it.
                if self.job.check_stop().is_err() || failure.lock().is_some() {
                    cancels.iter().for_each(|cancel| cancel.cancel());
                }
                thread::park_timeout(GLANCE);
            }
            threads.into_iter().map(|t| t.join().ok().flatten()).collect()
        });
        // Before the failure: a command that was ended because of the stop flag has failed, too.
        self.job.check_stop()?;
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        let shares: Option<Vec<Share<'_>>> = shares.into_iter().collect();
        let shares = shares.ok_or_else(|| Error::internal("a thread that loads the dataset panicked"))?;
        let samples = join(shares);
        let loaded = Loaded { samples: samples.len(), bytes: samples.bytes(), progress: self.job.progress.clone() };
        Ok((samples, loaded))
    }

    fn load_files(
        &self,
        cancel: &Arc<Cancel>,
        next: &AtomicUsize,
        failure: &Mutex<Option<Error>>,
    ) -> Result<Share<'_>> {
        let mut packer = Packer::new(&self.budget);
        let (mut columns, mut block, mut packed) = (self.job.format.columns(), Block::default(), Vec::new());
        let mut parts = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = self.files.get(index).filter(|_| failure.lock().is_none()) else {
                return Ok((packer, parts));
            };
            let mut rows = FileRows::open(&self.job, name, &mut block, cancel)?;
            let mut order = Vec::new();
            let mut more = true;
            while more && failure.lock().is_none() {
                more = rows.read(&mut columns, ROWS)?;
                for row in 0..columns.rows() {
                    packed.clear();
                    pack(&self.job.format.slots, &columns, row, &mut packed);
                    order.push(packer.push(&packed)?);
                }
                columns.clear();
            }
            parts.push((index, order));
        }
    }
}

/// How many threads are at work, and who waits for them.
struct Working {
    threads: AtomicUsize,
    waiting: Thread,
}

/// Says that a thread is done, even if it panics.
struct Done<'a>(&'a Working);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::Release);
        self.0.waiting.unpark();
    }
}

/// The shares of all threads, the samples in the order of the files.
fn join(shares: Vec<Share<'_>>) -> Samples {
    let mut packers = Vec::new();
    let mut files = Vec::new();
    for (i, (packer, parts)) in shares.into_iter().enumerate() {
        packers.push(packer);
        files.extend(parts.into_iter().map(|(file, order)| (file, i, order)));
    }
    files.sort_by_key(|(file, ..)| *file);
    Samples::join(packers, files.into_iter().map(|(_, i, order)| (i, order)).collect())
}
