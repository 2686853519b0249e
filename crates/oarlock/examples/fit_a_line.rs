//! Linear regression on made house prices: the twin of `examples/fit_a_line.py`, which reaches the same (docs/models.md).
//!
//! `cargo run --release -p oarlock --example fit_a_line`
#![expect(clippy::print_stdout, reason = "an example prints for its user")]

#[path = "twin/mod.rs"]
mod twin;

use oarlock::prelude::*;
use twin::{RandomState, rows, step};

const DISTRICTS: usize = 506;
const TRAIN: usize = 404;
const FEATURES: usize = 13;
const EPOCHS: usize = 40;
const BATCH: usize = 20;

fn main() -> Result<()> {
    oarlock::init_logging()?;
    println!("metric: test_mse {:.6}", train()?);
    Ok(())
}

/// Trains; returns the mean squared error on districts it has not seen.
pub(crate) fn train() -> Result<f64> {
    let mut net = Net::new();
    net.seed(90);
    let x = net.checked_data("x", &[-1, FEATURES as i64], DType::F32, 0)?;
    let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
    let predicted = net.fc(&x, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    let loss = net.mean(&cost)?;
    let test = oarlock::ir::clone_for_test(&net.main)?;
    optimizer::sgd(0.05).minimize(&mut net, &loss)?;

    let (exe, scope) = (Options::from_env()?.executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope)?;
    let (features, prices) = housing();
    let (train_x, test_x) = features.split_at(TRAIN * FEATURES);
    let (train_y, test_y) = prices.split_at(TRAIN);
    for _ in 0..EPOCHS {
        for (x, y) in train_x.chunks(BATCH * FEATURES).zip(train_y.chunks(BATCH)) {
            step(&exe, &net.main, &[("x", &rows(FEATURES, x)), ("y", &rows(1, y))], &loss, &scope)?;
        }
    }
    step(&exe, &test, &[("x", &rows(FEATURES, test_x)), ("y", &rows(1, test_y))], &loss, &scope)
}

/// Features, centred and scaled to a range of one, and prices.
fn housing() -> (Vec<f32>, Vec<f32>) {
    let mut random = RandomState::new(7);
    let features: Vec<f64> = (0..DISTRICTS * FEATURES).map(|_| random.rand()).collect();
    let weights: Vec<f64> = (0..FEATURES).map(|_| random.uniform(-10.0, 10.0)).collect();
    let price =
        |row: &[f64]| 22.0 + row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + random.normal(0.0, 2.0);
    let prices: Vec<f32> = features.chunks(FEATURES).map(price).map(|p| p as f32).collect();
    let scaled: Vec<(f64, f64)> = (0..FEATURES).map(|f| scale(features.iter().skip(f).step_by(FEATURES))).collect();
    let features = features.iter().enumerate();
    let features = features.map(|(i, x)| (x - scaled[i % FEATURES].0) / scaled[i % FEATURES].1);
    (features.map(|x| x as f32).collect(), prices)
}

/// The mean and the range of a column.
fn scale<'a>(column: impl Iterator<Item = &'a f64> + Clone) -> (f64, f64) {
    let mean = column.clone().sum::<f64>() / DISTRICTS as f64;
    let (low, high) = column.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    (mean, high - low)
}
