//! CTR-DNN trained straight from files, beside Fluid: samples per second, and AUC on files that were not trained on.

use std::path::Path;

use oarlock::data::{CriteoOptions, Format, QueueDataset, Source, criteo_slots, write_criteo};
use oarlock::prelude::*;
use oarlock::trainer::{Printer, Show, TrainOptions, infer_from_dataset, train_from_dataset};

use crate::bench::ctr_dnn::{BATCH, build};
use crate::bench::{Peer, Rates};

const TEST_SAMPLES: u64 = 50_000;
/// The first pass warms up and is not timed.
const PASSES: usize = 2;
const SEEDS: usize = 5;
/// How much faster than Fluid training has to be.
const GOAL: f64 = 2.0;
/// How far below Fluid's the AUC may be.
const AUC_GOAL: f64 = 0.002;

/// Compares both, with each optimizer, with one worker and with two.
pub(crate) fn compare(dir: &Path) -> Result<()> {
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "train_fluid.py");
    let test = dir.join("test");
    write_criteo(&test, CriteoOptions { samples: TEST_SAMPLES, files: 1, seed: 2 })?;
    for optimizer in ["sgd", "adam"] {
        for threads in [1, 2] {
            println!(
                "\nCTR-DNN from files, {optimizer}, {threads} worker(s), batch {BATCH} (samples/s; AUC on other files)"
            );
            let (mut ours, mut theirs) = (Runs::default(), Runs::default());
            for seed in 1..=SEEDS {
                ours.add(Some(train(dir, &test, optimizer, threads, seed)?));
                let args = [optimizer, &threads.to_string(), &PASSES.to_string(), &seed.to_string()];
                let paths = [dir.to_string_lossy(), test.to_string_lossy()];
                let args: Vec<&str> = paths.iter().map(|p| &**p).chain(args).collect();
                theirs.add(fluid.as_ref().and_then(|peer| peer.run_with_auc(&args)));
            }
            ours.show("oarlock");
            if theirs.show("fluid 1.8") {
                println!("  {:.2}x Fluid (goal {GOAL}x)", ours.rates().median() / theirs.rates().median());
                println!("  AUC {:+.4} (goal: above -{AUC_GOAL})", ours.auc() - theirs.auc());
            }
        }
    }
    Ok(())
}

/// The results of several seeds.
#[derive(Default)]
struct Runs {
    rates: Vec<f64>,
    aucs: Vec<f64>,
}

impl Runs {
    fn add(&mut self, run: Option<(Rates, f64)>) {
        if let Some((rates, auc)) = run {
            self.rates.extend(rates.all());
            self.aucs.push(auc);
        }
    }

    fn rates(&self) -> Rates {
        Rates::of(self.rates.clone())
    }

    /// The middle AUC.
    fn auc(&self) -> f64 {
        Rates::of(self.aucs.clone()).median()
    }

    fn show(&self, who: &str) -> bool {
        if !self.aucs.is_empty() {
            println!("  {who:<12} {:<28} AUC {:.4}", self.rates().show(), self.auc());
        }
        !self.aucs.is_empty()
    }
}

fn train(dir: &Path, test: &Path, optimizer: &str, threads: usize, seed: usize) -> Result<(Rates, f64)> {
    let mut net = Net::new();
    net.seed(seed as i32);
    let (loss, histograms) = build(&mut net, 1)?;
    match optimizer {
        "sgd" => optimizer::sgd(0.1).minimize(&mut net, &loss)?,
        _ => optimizer::adam(1e-3).lazy_mode(true).minimize(&mut net, &loss)?,
    };
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;
    let options = |threads| TrainOptions { show: Show::Nothing, ..TrainOptions::threads(threads) };
    let train = files(dir)?;
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        let pass = train_from_dataset(&exe, &net.main, &train, &scope, &options(threads), &mut Printer)?;
        rates.push(pass.samples as f64 / pass.time.as_secs_f64());
    }
    for name in histograms.iter().map(VarRef::name) {
        let empty = scope.tensor(name).map(|t| Tensor::zeros(t.dtype(), *t.dims())).unwrap_or_default();
        scope.set(name, empty);
    }
    infer_from_dataset(&exe, &net.main, &files(test)?, &scope, &options(1), &mut Printer)?;
    let [positive, negative] = histograms.map(|h| scope.tensor(h.name()).map(|t| t.to_f64()).unwrap_or_default());
    Ok((Rates::of(rates.split_off(1)), auc(&positive, &negative)))
}

fn files(dir: &Path) -> Result<QueueDataset> {
    let source = Source::files([dir.join("part-*").to_string_lossy()]);
    Ok(QueueDataset { source, format: Format::strict(criteo_slots()?), batch_size: BATCH, queue: 4 })
}

/// The probability that a click is scored above a non-click, from histograms of scores.
fn auc(positive: &[f64], negative: &[f64]) -> f64 {
    let (mut above, mut pairs) = (0.0, 0.0);
    for (p, n) in positive.iter().zip(negative).rev() {
        pairs += (above + p / 2.0) * n;
        above += p;
    }
    pairs / (above * negative.iter().sum::<f64>()).max(1.0)
}
