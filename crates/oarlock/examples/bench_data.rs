//! How fast MultiSlot text becomes batches of 1000, beside Fluid's QueueDataset in the same run: one thread reads and parses, another
//! takes the batches and drops them. Then how fast both train CTR-DNN from these files, and how well.
//! `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
//!
//! The samples are those of `oarlock data gen criteo`, about 330 bytes of text each.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;
#[path = "bench/train.rs"]
mod train;

use std::path::PathBuf;
use std::sync::Arc;

use bench::{Peer, Rates, peak_mb};
use oarlock::Result;
use oarlock::data::{
    Batch, BatchSource, CriteoOptions, Format, InMemoryDataset, MemoryLimit, QueueDataset, Source, criteo_slots,
    write_criteo,
};

const SAMPLES: usize = 200_000;
const WINDOWS: usize = 7;
const BATCH: usize = 1000;
/// How much faster than Fluid reading has to be.
const GOAL: f64 = 5.0;

fn main() -> Result<()> {
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "data_fluid.py");
    let made = Made::new()?;
    let source = Source::files([made.dir.join("part-*").to_string_lossy()]);
    let format = Format::strict(criteo_slots()?);
    let queue = QueueDataset { source: source.clone(), format: format.clone(), batch_size: BATCH, queue: 4 };
    let read = |readers| drain(queue.start(readers, Arc::default())?.take_readers());
    println!("\nMultiSlot text, batch {BATCH} (samples/s, MB/s of text)");
    let mut own = measure(|| read(1))?;
    if let Some((peer, (rates, memory))) =
        fluid.as_ref().and_then(|p| Some((p, p.run(&[&made.dir.to_string_lossy()])?)))
    {
        // Ours again after the peer, so that a slow spell of the machine hits both.
        own = own.join(measure(|| read(1))?);
        made.show(peer.name(), &rates);
        println!("  its peak memory: {memory:.0} MB; ours: {:.0} MB", peak_mb());
        println!("  {:.1}x Fluid, one reader each (goal {GOAL}x)", own.median() / rates.median());
    }
    made.show("one reader", &own);
    made.show("two readers", &measure(|| read(2))?);
    let piped = QueueDataset { source: Source { pipe_command: "cat -".into(), ..source.clone() }, ..queue.clone() };
    made.show("one reader, through `cat -`", &measure(|| drain(piped.start(1, Arc::default())?.take_readers()))?);
    let mut memory = InMemoryDataset::new(source, format, BATCH, MemoryLimit::Machine);
    let mut loaded = memory.load_into_memory(1, Arc::default())?;
    let load = measure(|| {
        loaded = memory.load_into_memory(1, Arc::default())?;
        Ok(())
    })?;
    made.show("into memory, one thread", &load);
    println!("  {loaded}");
    made.show("from memory, in order", &measure(|| drain(memory.readers(1)))?);
    memory.local_shuffle(1);
    made.show("from memory, shuffled", &measure(|| drain(memory.readers(1)))?);
    train::compare(&made.dir)
}

fn measure(mut pass: impl FnMut() -> Result<()>) -> Result<Rates> {
    let mut done = Ok(());
    let rates = Rates::measure(WINDOWS, SAMPLES, || {
        if let Err(e) = pass() {
            done = Err(e);
        }
    });
    done.map(|()| rates)
}

/// Takes all batches, each source in a thread of its own.
fn drain<S: BatchSource>(sources: Vec<S>) -> Result<()> {
    let all = |mut source: S| {
        let mut batch = Batch::new();
        while source.next(&mut batch)? {}
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = sources.into_iter().map(|s| scope.spawn(move || all(s))).collect();
        threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The data set to read, removed in the end.
struct Made {
    dir: PathBuf,
    bytes: u64,
}

impl Made {
    fn new() -> Result<Made> {
        let dir = std::env::temp_dir().join(format!("oarlock-bench-data-{}", std::process::id()));
        let made = write_criteo(&dir, CriteoOptions { samples: SAMPLES as u64, files: 4, seed: 1 })?;
        Ok(Made { dir, bytes: made.bytes })
    }

    fn show(&self, what: &str, rates: &Rates) {
        let megabytes = rates.median() * self.bytes as f64 / SAMPLES as f64 / 1e6;
        println!("  {what:<28} {:<32} {megabytes:>6.0} MB/s", rates.show());
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.dir).ok();
    }
}
