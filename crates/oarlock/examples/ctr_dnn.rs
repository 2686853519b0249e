//! Trains a click-through-rate model on clicks it makes itself, and measures it on clicks it has not seen.
//!
//! `cargo run --release -p oarlock --example ctr_dnn -- [epochs]`
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example prints for its user")]

use std::io::{IsTerminal, Write};
use std::time::Instant;

use oarlock::prelude::*;

const SLOTS: usize = 8;
const IDS: usize = 20_000;
const DENSE: usize = 4;
const BATCH: usize = 512;
const TRAIN: usize = 400;
const TEST: usize = 60;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    oarlock::init_logging()?;
    let epochs: usize = match std::env::args().nth(1) {
        Some(n) => n.parse().map_err(|_| format!("the number of epochs must be a number, not {n:?}"))?,
        None => 1,
    };
    let mut net = Net::new();
    net.seed(2024);
    let model = build(&mut net)?;
    // The test program is the network alone: it shares the parameters by their names.
    let test = oarlock_ir::clone_for_test(&net.main)?;
    optimizer::adam(1e-3).lazy_mode(true).minimize(&mut net, &model.loss)?;

    let exe = Options::from_env()?.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;

    let mut clicks = Clicks::new();
    let (train, held_out) = (clicks.batches(TRAIN), clicks.batches(TEST));
    println!(
        "{} clicks to train on, {} held out; best possible AUC {:.4}",
        TRAIN * BATCH,
        TEST * BATCH,
        clicks.best_auc()
    );
    for epoch in 0..epochs {
        let start = Instant::now();
        for (step, batch) in train.iter().enumerate() {
            let loss = run(&exe, &net.main, batch, &model.loss, &scope)?[0];
            progress(epoch, step, loss, start);
        }
        let auc = evaluate(&exe, &test, &held_out, &model, &scope)?;
        println!(
            "\repoch {epoch}: {:>7.0} clicks/s, AUC on held-out clicks {auc:.4}      ",
            (TRAIN * BATCH) as f64 / start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

struct Model {
    loss: VarRef,
    predicted: VarRef,
}

fn build(net: &mut Net) -> Result<Model> {
    let mut features = vec![net.checked_data("dense", &[-1, DENSE as i64], DType::F32, 0)?];
    for i in 0..SLOTS {
        let ids = net.checked_data(&format!("slot{i}"), &[-1, 1], DType::I64, 0)?;
        let table = Embedding::size(IDS, 8).is_sparse(true).param_attr(ParamAttr::name("ids"));
        features.push(net.embedding(&ids, table)?);
    }
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for size in [64, 32] {
        x = net.fc(&x, Fc::size(size).act("relu"))?;
    }
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    Ok(Model { loss: net.mean(&cost)?, predicted })
}

type Batch = Vec<(String, Tensor)>;

fn run(exe: &Executor, program: &Program, batch: &Batch, fetch: &VarRef, scope: &Scope) -> Result<Vec<f64>> {
    let feeds: Vec<(&str, &Tensor)> = batch.iter().map(|(n, t)| (n.as_str(), t)).collect();
    Ok(exe.run_tensors(program, &feeds, &[fetch.name()], scope)?[0].to_f64())
}

fn evaluate(exe: &Executor, test: &Program, batches: &[Batch], model: &Model, scope: &Scope) -> Result<f64> {
    let mut scored = Vec::new();
    for batch in batches {
        let p = run(exe, test, batch, &model.predicted, scope)?;
        let labels = batch.iter().find(|(n, _)| n == "label").map(|(_, t)| t.to_f64()).unwrap_or_default();
        scored.extend(labels.iter().enumerate().map(|(i, &l)| (p[2 * i + 1], l > 0.5)));
    }
    Ok(auc(scored))
}

/// The probability that a click is scored above a non-click.
fn auc(mut scored: Vec<(f64, bool)>) -> f64 {
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut pairs, mut clicks) = (0.0, 0.0, 0.0);
    for (_, click) in scored {
        if click {
            pairs += below;
            clicks += 1.0;
        } else {
            below += 1.0;
        }
    }
    pairs / f64::max(1.0, clicks * below)
}

/// A line that overwrites itself on a terminal; nothing when the output goes to a file.
fn progress(epoch: usize, step: usize, loss: f64, start: Instant) {
    if (step + 1).is_multiple_of(20) && std::io::stdout().is_terminal() {
        let rate = ((step + 1) * BATCH) as f64 / start.elapsed().as_secs_f64();
        print!("\repoch {epoch}: step {:>4} of {TRAIN}, loss {loss:.4}, {rate:>7.0} clicks/s", step + 1);
        std::io::stdout().flush().ok();
    }
}

/// Makes clicks: every id has a hidden weight, and their sum decides how likely a click is.
struct Clicks {
    state: u64,
    truth: Vec<(f64, bool)>,
}

impl Clicks {
    fn new() -> Clicks {
        Clicks { state: 88_172_645_463_325_252, truth: Vec::new() }
    }

    fn uniform(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    fn batches(&mut self, n: usize) -> Vec<Batch> {
        (0..n).map(|_| self.batch()).collect()
    }

    fn batch(&mut self) -> Batch {
        let (mut ids, mut dense, mut labels) = (vec![Vec::new(); SLOTS], Vec::new(), Vec::new());
        for _ in 0..BATCH {
            let mut score = -1.0;
            for slot in &mut ids {
                // Few ids are frequent, most are rare, as in real logs.
                let id = (self.uniform().powi(4) * IDS as f64) as i64;
                slot.push(id);
                score += hidden_weight(id);
            }
            for d in 0..DENSE {
                let v = self.uniform() as f32;
                score += f64::from(v) * (d as f64 - 1.5) * 0.5;
                dense.push(v);
            }
            let p = 1.0 / (1.0 + (-score).exp());
            let click = self.uniform() < p;
            self.truth.push((p, click));
            labels.push(i64::from(click));
        }
        let mut batch: Batch =
            ids.iter().enumerate().map(|(i, v)| (format!("slot{i}"), tensor([BATCH, 1], v))).collect();
        batch.push(("dense".into(), tensor([BATCH, DENSE], &dense)));
        batch.push(("label".into(), tensor([BATCH, 1], &labels)));
        batch
    }

    fn best_auc(&self) -> f64 {
        auc(self.truth.clone())
    }
}

fn hidden_weight(id: i64) -> f64 {
    let mixed = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 2.0
}

fn tensor<T: oarlock_tensor::Element>(dims: [usize; 2], data: &[T]) -> Tensor {
    Tensor::from_slice(dims, data).expect("as many elements as the sizes say")
}
