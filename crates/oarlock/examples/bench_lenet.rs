//! A training step of LeNet with batch normalisation, batch 64, one thread.
//! Peer: `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::models::lenet;
use bench::{Peer, Rates, peak_mb};
use oarlock::prelude::*;

const BATCH: usize = 64;
const STEPS: usize = 20;

fn main() -> Result<()> {
    let mut net = Net::new();
    net.seed(1);
    let (loss, batch) = lenet(&mut net, BATCH)?;
    optimizer::momentum(0.01, 0.9).minimize(&mut net, &loss)?;
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;
    let feed: Vec<(&str, &Tensor)> = batch.iter().map(|(name, t)| (*name, t)).collect();
    let mut fetched = Vec::new();
    let mut epoch = || -> Result<()> {
        for _ in 0..STEPS {
            exe.run_into(&net.main, &feed, &[loss.name()], &scope, &mut fetched)?;
        }
        Ok(())
    };
    epoch()?;
    let mut failed = Ok(());
    let own = Rates::measure(7, STEPS * BATCH, || failed = failed.clone().and(epoch()));
    failed?;
    println!("LeNet with batch norm, momentum, batch {BATCH}, one thread (images/s)");
    println!("  {:<12} {:<28} {:>6.0} MB", "oarlock", own.show(), peak_mb());
    if let Some(peer) = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "lenet_fluid.py")
        && let Some((rates, memory)) = peer.run(&[])
    {
        println!("  {:<12} {:<28} {memory:>6.0} MB", peer.name(), rates.show());
        println!("  {:.2}x (goal 1x)", own.median() / rates.median());
    }
    exe.start_profile();
    epoch()?;
    if let Some(profile) = exe.stop_profile() {
        println!("{profile}");
    }
    Ok(())
}
