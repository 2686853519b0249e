//! A training step of CTR-DNN on one thread, beside peers in the same run: 26 slots of width 10 from a table of 1,000,001 rows, 13 dense
//! features, three layers of 400, batch 1000. Peers: `OARLOCK_PEER_TORCH`, `OARLOCK_PEER_FLUID` name Python interpreters.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::ctr_dnn::{BATCH, Job};
use bench::{Peer, peak_mb};
use oarlock::prelude::*;

fn main() -> Result<()> {
    let torch = Peer::find("torch", "OARLOCK_PEER_TORCH", "ctr_dnn_torch.py");
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "ctr_dnn_fluid.py");
    for (optimizer, goal) in [("sgd", 1.25), ("adam", 1.4)] {
        println!("\nCTR-DNN, {optimizer}, batch {BATCH}, one thread (samples/s)");
        let mut ours = Job::new(optimizer)?;
        let mut own = ours.measure()?;
        let mut best: f64 = 0.0;
        for peer in [&torch, &fluid].into_iter().flatten() {
            // Ours again after each peer, so that a slow spell of the machine hits both.
            let Some((rates, memory)) = peer.run(&[optimizer]) else { continue };
            own = own.join(ours.measure()?);
            println!("  {:<12} {:<28} {memory:>6.0} MB", peer.name(), rates.show());
            best = best.max(rates.median());
        }
        println!("  {:<12} {:<28} {:>6.0} MB", "oarlock", own.show(), peak_mb());
        if best > 0.0 {
            println!("  {:.2}x the fastest peer (goal {goal}x)", own.median() / best);
        }
        ours.budget()?;
    }
    Ok(())
}
