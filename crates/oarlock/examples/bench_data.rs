//! How fast MultiSlot text becomes batches: `cargo xtask bench data`.
//!
//! One thread reads and parses, another takes the batches and drops them. An argument names a directory of `part-*` files
//! of the shape that `oarlock data gen criteo` writes; without it such a data set is made for the time of the run.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use oarlock::Result;
use oarlock::data::{
    Batch, BatchSource, CriteoOptions, Format, InMemoryDataset, MemoryLimit, QueueDataset, Source, criteo_slots,
    write_criteo,
};

const ROUNDS: usize = 7;
const BATCH: usize = 1000;

fn main() -> Result<()> {
    let made = match std::env::args().nth(1) {
        Some(dir) => Made { dir: dir.into(), temporary: false },
        None => Made::new()?,
    };
    let source = Source::files([made.dir.join("part-*").to_string_lossy()]);
    let names = source.expand()?;
    let bytes: u64 = names.iter().filter_map(|n| std::fs::metadata(n).ok()).map(|m| m.len()).sum();
    println!("{} files, {:.1} MB", names.len(), bytes as f64 / 1e6);
    let format = Format::strict(criteo_slots()?);
    let queue = QueueDataset { source: source.clone(), format: format.clone(), batch_size: BATCH, queue: 4 };
    report("QueueDataset, 1 reader", bytes, || drain(queue.start(1, Arc::default())?.take_readers()))?;
    report("QueueDataset, 2 readers", bytes, || drain(queue.start(2, Arc::default())?.take_readers()))?;
    let piped = QueueDataset { source: Source { pipe_command: "cat -".to_string(), ..source.clone() }, ..queue };
    report("QueueDataset, 1 reader, `cat -`", bytes, || drain(piped.start(1, Arc::default())?.take_readers()))?;
    let mut memory = InMemoryDataset::new(source, format, BATCH, MemoryLimit::Machine);
    let mut loaded = None;
    report("InMemoryDataset, load, 1 thread", bytes, || {
        let done = memory.load_into_memory(1, Arc::default())?;
        Ok(loaded.insert(done).samples)
    })?;
    println!("    {}", loaded.map(|l| l.to_string()).unwrap_or_default());
    report("InMemoryDataset, a pass in order", bytes, || drain(memory.readers(1)))?;
    memory.local_shuffle(1);
    report("InMemoryDataset, a pass shuffled", bytes, || drain(memory.readers(1)))
}

/// Takes all batches, each source in a thread of its own; returns the number of samples.
fn drain<S: BatchSource>(sources: Vec<S>) -> Result<usize> {
    let count = |mut source: S| {
        let (mut batch, mut rows) = (Batch::new(), 0);
        while source.next(&mut batch)? {
            rows += batch.rows();
        }
        Ok(rows)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = sources.into_iter().map(|s| scope.spawn(move || count(s))).collect();
        let joined = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.sum()
    })
}

/// The median of several rounds.
fn report(what: &str, bytes: u64, mut round: impl FnMut() -> Result<usize>) -> Result<()> {
    let mut times = Vec::new();
    let mut samples = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        samples = round()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[ROUNDS / 2];
    let spread = (times[0], times[ROUNDS - 1]);
    println!(
        "{what:34} {:8.0} MB/s  {:9.0} samples/s  [{:.3} s, {:.3} - {:.3}]",
        bytes as f64 / median / 1e6,
        samples as f64 / median,
        median,
        spread.0,
        spread.1
    );
    Ok(())
}

/// The data set to read.
struct Made {
    dir: PathBuf,
    temporary: bool,
}

impl Made {
    fn new() -> Result<Made> {
        let dir = std::env::temp_dir().join(format!("oarlock-bench-data-{}", std::process::id()));
        write_criteo(&dir, CriteoOptions { samples: 200_000, files: 4, seed: 1 })?;
        Ok(Made { dir, temporary: true })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.temporary {
            std::fs::remove_dir_all(&self.dir).ok();
        }
    }
}
