//! A training step of a text classifier of two LSTM layers over sequences of 40 to 120 words, one thread.
//! Peer: `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::{Peer, Rates, peak_mb};
use oarlock::Lod;
use oarlock::prelude::*;

const WORDS: usize = 10_000;
const STEPS: usize = 3;

fn main() -> Result<()> {
    for (batch, hidden) in [(32, 128), (64, 256)] {
        run(batch, hidden)?;
    }
    Ok(())
}

fn run(batch: usize, hidden: usize) -> Result<()> {
    let mut net = Net::new();
    net.seed(1);
    let loss = build(&mut net, hidden)?;
    optimizer::sgd(0.1).minimize(&mut net, &loss)?;
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;
    let lengths: Vec<usize> = (0..batch).map(|i| 40 + i * 37 % 81).collect();
    let rows: usize = lengths.iter().sum();
    let ids: Vec<i64> = (0..rows).map(|i| (i * 7919 % WORDS) as i64).collect();
    let mut words = Tensor::from_slice([rows, 1], &ids).expect("as many words");
    words.set_lod(Lod::from_lengths(&[lengths]));
    let labels: Vec<i64> = (0..batch as i64).map(|i| i % 2).collect();
    let label = Tensor::from_slice([batch, 1], &labels).expect("as many labels");
    let mut fetched = Vec::new();
    let mut epoch = || -> Result<()> {
        for _ in 0..STEPS {
            exe.run_into(&net.main, &[("words", &words), ("label", &label)], &[loss.name()], &scope, &mut fetched)?;
        }
        Ok(())
    };
    epoch()?;
    let mut failed = Ok(());
    let mut measure = || Rates::measure(4, STEPS * rows, || failed = failed.clone().and(epoch()));
    let own = measure();
    let peer = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "text_lstm_fluid.py");
    let theirs = peer.as_ref().and_then(|p| p.run(&[&batch.to_string(), &hidden.to_string()]));
    // Again after the peer, so that a slow spell of the machine hits both.
    let own = own.join(measure());
    failed?;
    println!("two LSTM layers of {hidden}, {batch} texts of 40 to 120 words, SGD, one thread (words/s)");
    println!("  {:<12} {:<28} {:>6.0} MB", "oarlock", own.show(), peak_mb());
    if let (Some(peer), Some((rates, memory))) = (peer, theirs) {
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

fn build(net: &mut Net, hidden: usize) -> Result<VarRef> {
    let words = net.data("words", Data::shape([1]).dtype(DType::I64).lod_level(1))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let mut x = net.embedding(&words, Embedding::size(WORDS, 128).is_sparse(true))?;
    for reverse in [false, true] {
        let gates = net.fc(&x, Fc::size(4 * hidden))?;
        x = net.dynamic_lstm(&gates, Lstm::size(4 * hidden).is_reverse(reverse))?.0;
    }
    let text = net.sequence_pool(&x, "max", false, 0.0)?;
    let logits = net.fc(&text, Fc::size(2))?;
    let cost = net.softmax_with_cross_entropy(&logits, &label, CrossEntropy::new())?;
    net.mean(&cost)
}
