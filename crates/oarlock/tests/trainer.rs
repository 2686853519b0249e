//! Training straight from files, with one thread and with several.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oarlock::Kind;
use oarlock::data::{
    BadLines, Dataset, Format, InMemoryDataset, MemoryLimit, QueueDataset, SlotSpec, SlotType, Source,
};
use oarlock::prelude::*;
use oarlock::tensor::Value;
use oarlock::trainer::{Handler, Observer, Show, Summary, TrainOptions, infer_from_dataset, train_from_dataset};

use crate::fluid::program_archive;
use crate::programs::OPTIMIZERS;

const IDS: usize = 50;

/// A click model with everything that workers share in different ways: a table, dense parameters, batch-norm statistics, an AUC
/// histogram and a learning-rate counter.
fn model(net: &mut Net) -> Result<(VarRef, [VarRef; 2])> {
    net.seed(7);
    let ids = net.checked_data("ids", &[-1, 1], DType::I64, 1)?;
    let dense = net.checked_data("dense", &[-1, 2], DType::F32, 0)?;
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let rows = net.embedding(&ids, Embedding::size(IDS, 4).is_sparse(true).param_attr(ParamAttr::name("table")))?;
    let pooled = net.sequence_pool(&rows, "sum", false, 0.0)?;
    let x = net.concat(&[&pooled, &dense], 1)?;
    let x = net.batch_norm(&x, BatchNorm::new())?;
    let x = net.fc(&x, Fc::size(8).act("relu"))?;
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let [_, _, positive, negative] = net.auc(&predicted, &label, Auc::new())?.stats;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    Ok((net.mean(&cost)?, [positive, negative]))
}

fn slots() -> Vec<SlotSpec> {
    let dense = |name, ty, width| SlotSpec::dense(name, ty, oarlock::ir::Shape::from_i64(&[-1, width]));
    vec![
        SlotSpec::sparse("ids", SlotType::Id),
        dense("dense", SlotType::Float, 2).expect("a shape"),
        dense("label", SlotType::Id, 1).expect("a shape"),
    ]
}

/// Files of samples whose label follows from the first id, removed in the end.
struct Files {
    dir: PathBuf,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Files {
    fn new(files: usize, lines: usize) -> Files {
        let name = format!("oarlock-trainer-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let made = Files { dir: std::env::temp_dir().join(name) };
        std::fs::create_dir_all(&made.dir).expect("a directory");
        for f in 0..files {
            let line = |i: usize| {
                let id = (i * 7 + f * 3) % (IDS - 1) + 1;
                format!("2 {id} {} 2 0.{} 1 1 {}\n", (id * 5) % (IDS - 1) + 1, i % 9, id % 2)
            };
            let text: String = (0..lines).map(line).collect();
            std::fs::write(made.dir.join(format!("part-{f}")), text).expect("a file");
        }
        made
    }

    fn source(&self) -> Source {
        Source::files([self.dir.join("part-*").to_string_lossy()])
    }

    fn queue(&self) -> QueueDataset {
        QueueDataset { source: self.source(), format: Format::strict(slots()), batch_size: 10, queue: 2 }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.dir).ok();
    }
}

/// Keeps the events it gets.
#[derive(Debug, Default)]
struct Heard {
    lines: Vec<String>,
    handed: Vec<Vec<Value>>,
}

impl Observer for Heard {
    fn line(&mut self, text: &str) -> Result<()> {
        self.lines.push(text.to_string());
        Ok(())
    }

    fn fetched(&mut self, values: Vec<Value>) -> Result<()> {
        self.handed.push(values);
        Ok(())
    }
}

struct Trained {
    net: Net,
    exe: Executor,
    scope: Scope,
    loss: String,
    histograms: [VarRef; 2],
}

impl Trained {
    fn new() -> Trained {
        let mut net = Net::new();
        let (loss, histograms) = model(&mut net).expect("a model");
        let rate = net.exponential_decay(0.1, 100.0, 0.9, true).expect("a schedule");
        optimizer::adam(rate).lazy_mode(true).minimize(&mut net, &loss).expect("gradients");
        let exe = Options { threads: 1, check_nan_inf: false }.executor();
        let scope = Scope::new();
        exe.run(&net.startup, &[], &[], &scope).expect("a start");
        Trained { net, exe, scope, loss: loss.name().to_string(), histograms }
    }

    fn options(threads: usize) -> TrainOptions {
        TrainOptions { show: Show::Nothing, ..TrainOptions::threads(threads) }
    }

    fn train(&self, dataset: &dyn Dataset, options: &TrainOptions) -> Result<(Summary, Heard)> {
        let mut heard = Heard::default();
        let done = train_from_dataset(&self.exe, &self.net.main, dataset, &self.scope, options, &mut heard);
        done.map(|summary| (summary, heard))
    }

    /// The values of all variables that outlive a run.
    fn state(&self) -> Vec<(String, Vec<f64>)> {
        let names = self.scope.names();
        names.iter().filter_map(|n| Some((n.to_string(), self.scope.tensor(n)?.to_f64()))).collect()
    }

    /// All samples that the AUC has seen.
    fn seen(&self) -> f64 {
        let values = self.histograms.iter().filter_map(|h| self.scope.tensor(h.name()));
        values.map(|t| t.to_f64().iter().sum::<f64>()).sum()
    }

    fn counter(&self) -> f64 {
        self.scope.tensor("@LR_DECAY_COUNTER@").expect("a counter").to_f64()[0]
    }
}

#[test]
fn one_thread_is_the_plain_step_again_and_again() {
    let files = Files::new(3, 95);
    let (a, b) = (Trained::new(), Trained::new());
    let (summary, _) = a.train(&files.queue(), &Trained::options(1)).expect("a pass");
    assert_eq!((summary.samples, summary.batches, summary.threads, summary.skipped), (285, 29, 1, 0));
    b.train(&files.queue(), &Trained::options(1)).expect("a pass");
    assert_eq!(a.state(), b.state());

    let c = Trained::new();
    let mut readers = files.queue().start(1, Arc::default()).expect("readers").take_readers();
    let mut batch = oarlock::data::Batch::new();
    while oarlock::data::BatchSource::next(&mut readers[0], &mut batch).expect("a batch") {
        let feeds: Vec<(&str, &Tensor)> = ["ids", "dense", "label"].into_iter().zip(batch.tensors()).collect();
        c.exe.run(&c.net.main, &feeds, &[], &c.scope).expect("a step");
    }
    assert_eq!(a.state(), c.state());
    assert_eq!(a.seen(), 285.0);
}

#[test]
fn totals_are_exact_for_any_number_of_threads() {
    let files = Files::new(4, 200);
    let mut memory = InMemoryDataset::new(files.source(), Format::strict(slots()), 10, MemoryLimit::Machine);
    memory.load_into_memory(2, Arc::default()).expect("samples");
    let t = Trained::new();
    assert_eq!(t.train(&memory, &Trained::options(5)).expect("a pass").0.threads, 5);
    assert_eq!(t.seen(), 800.0);
    for threads in [2, 3, 9] {
        let t = Trained::new();
        let (summary, _) = t.train(&files.queue(), &Trained::options(threads)).expect("a pass");
        assert_eq!((summary.samples, summary.threads), (800, threads.min(4)));
        assert_eq!(t.seen(), 800.0);
        // The counter starts one below 0.
        assert_eq!(t.counter(), summary.batches as f64 - 1.0);
        assert!(t.state().iter().all(|(_, values)| values.iter().all(|v| v.is_finite())));
    }
}

/// Three workers in turns: each trains on parameters that two others have changed since it last saw them.
#[test]
fn workers_learn_from_parameters_that_others_change() {
    let files = Files::new(4, 300);
    let mut memory = InMemoryDataset::new(files.source(), Format::strict(slots()), 20, MemoryLimit::Bytes(1 << 24));
    let empty = Trained::new().train(&memory, &Trained::options(2)).expect_err("nothing is loaded");
    assert!(empty.to_string().contains("load it first"), "{empty}");
    memory.load_into_memory(2, Arc::default()).expect("samples");
    let t = Trained::new();
    let names = ["ids", "dense", "label"];
    let mut workers = t.exe.hogwild_threads(&t.net.main, &names, &[], &t.scope, 3).expect("workers");
    for _ in 0..5 {
        let mut source = memory.readers(1).remove(0);
        let mut batch = oarlock::data::Batch::new();
        let mut turn = 0;
        while oarlock::data::BatchSource::next(&mut source, &mut batch).expect("a batch") {
            let feeds: Vec<(&str, &Tensor)> = names.into_iter().zip(batch.tensors()).collect();
            workers[turn % 3].run(&feeds, None).expect("a step");
            turn += 1;
        }
    }
    let options = Trained::options(1).fetch(&t.loss, "loss");
    let mut heard = Heard::default();
    infer_from_dataset(&t.exe, &t.net.main, &memory, &t.scope, &options, &mut heard).expect("a pass");
    let loss = heard.lines[0].rsplit(' ').next().and_then(|v| v.parse::<f64>().ok()).expect("a loss");
    assert!(loss < 0.2, "{loss}");
}

/// A worker among others whose others do nothing computes what the executor computes, bit for bit, with every optimizer.
#[test]
fn a_worker_among_idle_others_is_the_plain_executor() {
    for (name, build) in OPTIMIZERS {
        let npz = program_archive(name);
        let feed: Vec<(String, Tensor)> = npz
            .names()
            .filter_map(|n| n.strip_prefix("feed0/").map(|v| (v.to_string(), npz.array(n).clone())))
            .collect();
        let feed: Vec<(&str, &Tensor)> = feed.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let run = |shared: bool| {
            let mut net = Net::new();
            net.seed(3);
            build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
            let exe = Options { threads: 1, check_nan_inf: false }.executor();
            let scope = Scope::new();
            exe.run(&net.startup, &[], &[], &scope).unwrap_or_else(|e| panic!("{name}: {e}"));
            let names: Vec<&str> = feed.iter().map(|(n, _)| *n).collect();
            let count = if shared { 2 } else { 1 };
            let mut workers = exe
                .hogwild_threads(&net.main, &names, &["mean_0.tmp_0"], &scope, count)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut losses = Vec::new();
            for _ in 0..4 {
                let mut fetched = Vec::new();
                workers[0].run(&feed, Some(&mut fetched)).unwrap_or_else(|e| panic!("{name}: {e}"));
                losses.push(fetched[0].dense().expect("a loss").to_f64());
            }
            let state: Vec<_> = scope.names().iter().filter_map(|n| scope.tensor(n)).map(|t| t.to_f64()).collect();
            (losses, state)
        };
        assert_eq!(run(false), run(true), "{name}");
    }
}

#[test]
fn values_are_printed_and_handed_over() {
    let files = Files::new(2, 100);
    let t = Trained::new();
    let mut options = Trained::options(1).fetch(&t.loss, "loss").fetch("fc_1.tmp_2", "p");
    options.print_period = 8;
    options.debug = true;
    options.handler = Some(Handler { names: vec![t.loss.clone(), "table".into()], every: Duration::ZERO });
    let (_, heard) = t.train(&files.queue(), &options).expect("a pass");
    let batches: Vec<&str> = heard.lines.iter().filter_map(|l| l.split(':').next()).take(3).collect();
    assert_eq!(batches, ["batch 0", "batch 8", "batch 16"]);
    assert!(heard.lines[0].starts_with("batch 0: loss 0.") && heard.lines[0].contains(", p [10, 2] 0."));
    assert!(heard.lines[3].contains("batch_norm"), "times of operators: {}", heard.lines[3]);
    let [loss, table] = &heard.handed[0][..] else { panic!("two values are fetched") };
    assert_eq!(loss.dense().expect("a loss").dims().numel(), 1);
    assert_eq!(table.dense().expect("a table").dims()[..], [IDS, 4]);

    let mut options = Trained::options(2).fetch(&t.loss, "loss").fetch("table", "t");
    options.print_period = 1000;
    assert_eq!(t.train(&files.queue(), &options).expect("a pass").1.lines.len(), 1);
}

#[test]
fn a_bad_line_ends_the_pass_or_is_counted() {
    let files = Files::new(3, 50);
    let broken = files.dir.join("part-1");
    std::fs::write(&broken, "2 1 2 2 0.5 1 1 1\n2 1 x 2 0.5 1 1 1\n").expect("a file");
    for threads in [1, 2] {
        let t = Trained::new();
        let mut queue = files.queue();
        let error = t.train(&queue, &Trained::options(threads)).expect_err("a bad line").to_string();
        assert!(error.contains("part-1:2:5: expected value 2 of 2 of slot `ids`"), "{error}");
        queue.format.bad_lines = BadLines::Skip;
        let (summary, _) = t.train(&queue, &Trained::options(threads)).expect("a pass");
        assert_eq!((summary.samples, summary.skipped), (101, 1));
        assert!(summary.to_string().ends_with("; 1 bad lines skipped"), "{summary}");
    }
}

#[test]
fn a_failing_operator_ends_the_pass() {
    let files = Files::new(2, 50);
    // An id that the table does not have.
    std::fs::write(files.dir.join("part-1"), "1 5000 2 0 0 1 1\n").expect("a file");
    for threads in [1, 2] {
        let error = Trained::new().train(&files.queue(), &Trained::options(threads)).expect_err("no such id");
        assert!(error.to_string().contains("5000"), "{error}");
    }
    let mut unknown = slots();
    unknown.truncate(2);
    let queue = QueueDataset {
        format: Format { extra: oarlock::data::Extra::Ignore, ..Format::strict(unknown) },
        ..files.queue()
    };
    let error = Trained::new().train(&queue, &Trained::options(2)).expect_err("no label");
    assert!(error.to_string().contains("needs `label`, but it is not fed"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "measures how long a stop takes")]
fn a_stop_is_noticed_at_once() {
    let files = Files::new(2, 10);
    // A command that never ends: nothing will come, and no thread may wait for it.
    let mut queue = files.queue();
    queue.source.pipe_command = "cat; sleep 60".into();
    for threads in [1, 2] {
        let t = Trained::new();
        let stop = t.exe.runtime().stop_flag();
        let start = std::time::Instant::now();
        let error = std::thread::scope(|s| {
            s.spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                stop.store(true, Ordering::Relaxed);
            });
            t.train(&queue, &Trained::options(threads)).expect_err("stopped")
        });
        assert_eq!(error.kind(), Kind::Interrupted);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}
