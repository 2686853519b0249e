//! Steps per second of linear regression (13 -> 1, batch 20): what a step costs besides arithmetic.
//! Peer: `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::{Peer, Rates, peak_mb};
use oarlock::prelude::*;

const STEPS: usize = 100_000;

fn main() -> Result<()> {
    let mut net = Net::new();
    net.seed(1);
    let x = net.checked_data("x", &[-1, 13], DType::F32, 0)?;
    let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
    let predicted = net.fc(&x, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    let loss = net.mean(&cost)?;
    optimizer::sgd(0.01).minimize(&mut net, &loss)?;
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;

    let xs: Vec<f32> = (0..260).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
    let ys: Vec<f32> = (0..20).map(|i| xs[i * 13] * 0.5).collect();
    let xs = Tensor::from_slice([20, 13], &xs).expect("260 numbers");
    let ys = Tensor::from_slice([20, 1], &ys).expect("20 numbers");
    let mut fetched = Vec::new();
    let mut failed = Ok(());
    let own = Rates::measure(7, STEPS, || {
        for _ in 0..STEPS {
            let run = exe.run_into(&net.main, &[("x", &xs), ("y", &ys)], &[loss.name()], &scope, &mut fetched);
            failed = failed.clone().and(run);
        }
    });
    failed?;
    println!("fit_a_line, batch 20 (steps/s)");
    println!("  {:<12} {:<28} {:>6.0} MB", "oarlock", own.show(), peak_mb());
    if let Some(peer) = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "fit_a_line_fluid.py")
        && let Some((rates, memory)) = peer.run(&[])
    {
        println!("  {:<12} {:<28} {memory:>6.0} MB", peer.name(), rates.show());
        println!("  {:.0}x (goal 20x)", own.median() / rates.median());
    }
    Ok(())
}
