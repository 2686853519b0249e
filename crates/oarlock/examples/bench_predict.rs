//! Predictions of CTR-DNN on one thread, beside Fluid's predictor in the same run: the network of `bench_ctr_dnn`, saved as an
//! inference model, with its inputs copied in and its output copied out in every call. Peer: `OARLOCK_PEER_FLUID`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bench::{Peer, Rates, peak_mb};
use oarlock::Predictor;
use oarlock::io::{InferenceModel, Local, ModelFiles};
use oarlock::prelude::*;
use oarlock_tensor::{Dims, Element};

const ROWS: usize = 1_000_001;
const SLOTS: usize = 26;
const BATCHES: usize = 200;

fn main() -> Result<()> {
    let dir = std::env::temp_dir().join(format!("oarlock-bench-predict-{}", std::process::id()));
    let result = save_model(&dir).and_then(|()| compare(&dir));
    // Only scratch files; what cannot be deleted is left to the system.
    drop(std::fs::remove_dir_all(&dir));
    result
}

fn compare(dir: &Path) -> Result<()> {
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "predict_fluid.py");
    let mut predictor = Predictor::load(dir, &Options { threads: 1, check_nan_inf: false })?;
    for (batch, calls) in [(1, 2000), (64, 400)] {
        println!("\nCTR-DNN prediction, batch {batch}, one thread (samples/s)");
        let mut ours = Calls::new(batch);
        let mut own = ours.measure(&mut predictor, calls)?;
        let peer = fluid.as_ref().and_then(|p| Some((p, p.run(&[&dir.display().to_string(), &batch.to_string()])?)));
        let Some((peer, (rates, memory))) = peer else {
            println!("  {:<12} {}", "oarlock", own.show());
            continue;
        };
        // Ours again after the peer, so that a slow spell of the machine hits both.
        own = own.join(ours.measure(&mut predictor, calls)?);
        println!("  {:<12} {:<28} {memory:>6.0} MB", peer.name(), rates.show());
        println!("  {:<12} {:<28} {:>6.0} MB", "oarlock", own.show(), peak_mb());
        let micros = |rates: &Rates| 1e6 * batch as f64 / rates.median();
        println!(
            "  a call: {:.1} us, theirs {:.1} us, {:.2} of it",
            micros(&own),
            micros(&rates),
            micros(&own) / micros(&rates)
        );
        println!(
            "  {:.2}x the throughput; goals: 0.4 of the time at batch 1, 1.3x at batch 64",
            own.median() / rates.median()
        );
    }
    Ok(())
}

/// Builds the network with random weights and saves the part that predicts.
fn save_model(dir: &PathBuf) -> Result<()> {
    let mut net = Net::new();
    net.seed(1);
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0)?];
    let mut feeds = vec!["dense".to_string()];
    for i in 0..SLOTS {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0)?;
        let first = ParamAttr::name("SparseFeatFactors").initializer(Initializer::uniform(-0.05, 0.05));
        features.push(net.embedding(&ids, Embedding::size(ROWS, 10).is_sparse(true).param_attr(first))?);
        feeds.push(format!("C{i}"));
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for _ in 0..3 {
        x = net.fc(&x, Fc::size(400).act("relu"))?;
    }
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let (executor, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    executor.run(&net.startup, &[], &[], &scope)?;
    let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
    let model = InferenceModel::export(&net.main, &feeds, &[predicted.name()])?;
    model.save(&Local::at(dir), &ModelFiles::separate(), &scope)
}

/// Batches to predict on, and what comes out.
struct Calls {
    batches: Vec<Vec<Tensor>>,
    out: Vec<f32>,
    next: usize,
}

impl Calls {
    fn new(batch: usize) -> Calls {
        let mut state = 12345u64;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut one = || {
            let dense: Vec<f32> = (0..batch * 13).map(|_| uniform() as f32).collect();
            let mut inputs = vec![tensor(&[batch, 13], &dense)];
            for _ in 0..SLOTS {
                let ids: Vec<i64> = (0..batch).map(|_| (uniform().powi(3) * ROWS as f64) as i64).collect();
                inputs.push(tensor(&[batch, 1], &ids));
            }
            inputs
        };
        Calls { batches: (0..BATCHES).map(|_| one()).collect(), out: Vec::new(), next: 0 }
    }

    /// One call: inputs copied in, output copied out.
    fn call(&mut self, predictor: &mut Predictor) -> Result<()> {
        for (i, tensor) in self.batches[self.next % BATCHES].iter().enumerate() {
            predictor.input_at(i).copy_from(tensor);
        }
        self.next += 1;
        predictor.run()?;
        self.out.clear();
        let output = predictor.output_at(0)?.data::<f32>();
        self.out.extend_from_slice(output.expect("a model that computes in f32"));
        Ok(())
    }

    /// The rate of the median call of each window, as the peer measures it.
    fn measure(&mut self, predictor: &mut Predictor, calls: usize) -> Result<Rates> {
        let batch = self.batches[0][0].rows() as f64;
        let mut rates = Vec::new();
        for window in 0..7 {
            let mut times = Vec::with_capacity(calls);
            for _ in 0..calls {
                let start = Instant::now();
                self.call(predictor)?;
                times.push(start.elapsed().as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            // The first window warms up.
            if window > 0 {
                rates.push(batch / times[calls / 2]);
            }
        }
        Ok(Rates::of(rates))
    }
}

fn tensor<T: Element>(sizes: &[usize], data: &[T]) -> Tensor {
    Tensor::from_slice(Dims::new(sizes), data).expect("sizes that fit the data")
}
