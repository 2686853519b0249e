//! A training step of LeNet with batch normalisation, batch 64, one thread.
//! Peer: `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::{Peer, Rates, peak_mb};
use oarlock::prelude::*;

const BATCH: usize = 64;
const STEPS: usize = 20;

fn main() -> Result<()> {
    let mut net = Net::new();
    net.seed(1);
    let loss = build(&mut net)?;
    optimizer::momentum(0.01, 0.9).minimize(&mut net, &loss)?;
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;
    let pixels: Vec<f32> = (0..BATCH * 784).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
    let labels: Vec<i64> = (0..BATCH as i64).map(|i| i % 10).collect();
    let img = Tensor::from_slice([BATCH, 1, 28, 28], &pixels).expect("as many pixels");
    let label = Tensor::from_slice([BATCH, 1], &labels).expect("as many labels");
    let mut fetched = Vec::new();
    let mut epoch = || -> Result<()> {
        for _ in 0..STEPS {
            exe.run_into(&net.main, &[("img", &img), ("label", &label)], &[loss.name()], &scope, &mut fetched)?;
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

fn build(net: &mut Net) -> Result<VarRef> {
    let img = net.data("img", Data::shape([1, 28, 28]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let c = net.conv2d(&img, Conv::new(6, 5).padding(2).bias_attr(false))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).pool_stride(2))?;
    let c = net.conv2d(&c, Conv::new(16, 5))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).avg().pool_stride(2))?;
    let hidden = net.fc(&c, Fc::size(60).act("relu"))?;
    let logits = net.fc(&hidden, Fc::size(10))?;
    let cost = net.softmax_with_cross_entropy(&logits, &label, CrossEntropy::new())?;
    net.mean(&cost)
}
