//! CTR-DNN and word2vec on two parameter servers and two trainers, all processes on this machine, in every mode: samples per second of
//! both trainers together, memory and processor time of each process, and the AUC of the last pass over the training files: beside
//! that of one process with the joined batch where trainers wait for each other.
//!
//! `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8; it then does the same in the same run. Arguments choose
//! networks and modes (`ctr`, `word2vec`, `local`, `sync`, `half_async`, `async`, `geo`); `OARLOCK_BENCH_SEEDS` says how many seeds
//! each is run from (1), of which the median counts; `OARLOCK_BENCH_DATA` names files to train CTR-DNN on instead of generated ones.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;
#[path = "bench/ps/mod.rs"]
mod ps;

use std::path::{Path, PathBuf};

use bench::{Peer, Rates};
use oarlock::prelude::*;
use oarlock::trainer::{Printer, Show, TrainOptions, train_from_dataset};
use ps::cluster::{Outcome, PASSES, Run, SERVERS, TRAINERS, dataset};
use ps::joined::auc_of_joined;
use ps::networks::Network;

/// Mode, optimizer, and how much faster than Fluid it has to be.
const CTR: &[(&str, &str, f64)] = &[
    ("sync", "sgd", 3.0),
    ("half_async", "sgd", 2.5),
    ("async", "sgd", 3.0),
    ("geo", "sgd", 1.9),
    ("sync", "adam", 3.0),
    ("async", "adam", 3.0),
];
const WORD2VEC: &[(&str, &str, f64)] = &[("async", "sgd", 8.0), ("geo", "sgd", 3.5)];
const LOCAL_GOAL: f64 = 5.0;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [role @ ("server" | "trainer"), network, mode, optimizer, seed, index, ports, data] => {
            let network = Network::parse(network).expect("a network, given by this program");
            let run = Run { network, mode, optimizer, seed: number(seed) };
            run.play(role, number(index), ports, Path::new(data))
        }
        _ => compare(&args),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number, given by this program")
}

/// Runs everything, or what is named.
fn compare(args: &[String]) -> Result<()> {
    let named = |words: &[&str], word: &str| {
        !args.iter().any(|a| words.contains(&a.as_str())) || args.iter().any(|a| a == word)
    };
    let modes = ["local", "sync", "half_async", "async", "geo"];
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "ps_fluid.py");
    let dir = Temporary(std::env::temp_dir().join(format!("oarlock-bench-ps-{}", std::process::id())));
    for (network, plan) in [(Network::Ctr, CTR), (Network::Word2vec, WORD2VEC)] {
        if !named(&["ctr", "word2vec"], network.name()) {
            continue;
        }
        let given = std::env::var_os("OARLOCK_BENCH_DATA").filter(|_| network == Network::Ctr);
        let data = given.map_or_else(|| dir.0.join(network.name()), PathBuf::from);
        if !data.exists() {
            network.write(&data)?;
        }
        if network == Network::Word2vec && named(&modes, "local") {
            local(&data)?;
        }
        println!("\n{}, {SERVERS} servers and {TRAINERS} trainers, batch {}", network.name(), network.batch());
        for (mode, optimizer, goal) in plan.iter().filter(|(mode, ..)| named(&modes, mode)) {
            cluster(network, mode, optimizer, *goal, &data, fluid.as_ref());
        }
    }
    Ok(())
}

/// One mode, from several seeds.
fn cluster(network: Network, mode: &str, optimizer: &str, goal: f64, data: &Path, fluid: Option<&Peer>) {
    let seeds = std::env::var("OARLOCK_BENCH_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut ours, mut theirs, mut samples) = (Vec::new(), Vec::new(), 0.0);
    for seed in 1..=seeds {
        let (outcome, trained) = Run { network, mode, optimizer, seed }.run(data);
        ours.push(outcome);
        samples = trained;
        if let Some(peer) = fluid {
            let (passes, seed) = (PASSES.to_string(), seed.to_string());
            let args = [network.name(), mode, optimizer, &data.to_string_lossy(), &passes, &seed];
            theirs.extend(peer.run_cluster(&args).map(|(rates, auc, used)| Outcome { rates, auc, used }));
        }
    }
    println!("  {mode} {optimizer}");
    let own = show("oarlock", &ours, samples);
    // Fluid 1.8 trains on the same files, as often.
    if let (Some((own, own_auc)), Some((peer, peer_auc))) = (own, show("fluid 1.8", &theirs, samples)) {
        let quality = if own_auc > 0.0 { format!(", AUC {:+.4}", own_auc - peer_auc) } else { String::new() };
        println!("    {:.2}x Fluid (goal {goal}x){quality}", own / peer);
    }
    if let (Network::Ctr, "sync", Some((_, own_auc))) = (network, mode, own) {
        let joined = (1..=seeds).map(|seed| auc_of_joined(network, optimizer, seed, data)).collect::<Result<Vec<_>>>();
        match joined.map(|all| Rates::of(all).median()) {
            Ok(auc) => println!("    one process, joined batch: AUC {auc:.4}, the cluster's {:+.4}", own_auc - auc),
            Err(e) => println!("    one process with the joined batch failed: {e}"),
        }
    }
}

/// Prints the medians of several seeds, and gives them.
fn show(who: &str, outcomes: &[Outcome], samples: f64) -> Option<(f64, f64)> {
    let rates = Rates::of(outcomes.iter().flat_map(|o| o.rates.all()).copied().collect());
    let last = outcomes.last()?;
    let aucs = outcomes.iter().map(|o| o.auc);
    let (low, high) = aucs.clone().fold((1.0, 0.0), |(low, high): (f64, f64), auc| (low.min(auc), high.max(auc)));
    let auc = Rates::of(aucs.collect()).median();
    // Skip-gram has none.
    let quality = if auc > 0.0 { format!("AUC {auc:.4} [{low:.4}-{high:.4}]  ") } else { String::new() };
    println!("    {who:<10} {:<26} {quality}{}", rates.show(), last.used);
    let [trainers, servers] = [0, 1].map(|role| {
        let seconds = outcomes.iter().map(|o| o.seconds()[role] * 1e6 / samples.max(1.0)).collect();
        Rates::of(seconds).median()
    });
    println!("    {:<10} processor seconds per million samples: trainers {trainers:.1}, servers {servers:.1}", "");
    Some((rates.median(), auc))
}

/// word2vec on this machine alone, with two threads.
fn local(data: &Path) -> Result<()> {
    println!("\nword2vec, one process, 2 threads, batch {}", Network::Word2vec.batch());
    let built = Network::Word2vec.build("sgd", 1)?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    exe.run(&built.net.startup, &[], &[], &scope)?;
    let set = dataset(Network::Word2vec, data, |_| true)?;
    let options = TrainOptions { show: Show::Nothing, ..TrainOptions::threads(2) };
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        let pass = train_from_dataset(&exe, &built.net.main, &set, &scope, &options, &mut Printer)?;
        rates.push(pass.samples as f64 / pass.time.as_secs_f64());
    }
    let own = Rates::of(rates.split_off(1));
    println!("    {:<10} {}", "oarlock", own.show());
    let peer = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "word2vec_fluid.py");
    if let Some((rates, _)) = peer.and_then(|p| p.run(&[&data.to_string_lossy(), "2", &PASSES.to_string()])) {
        println!("    {:<10} {}", "fluid 1.8", rates.show());
        println!("    {:.2}x Fluid (goal {LOCAL_GOAL}x)", own.median() / rates.median());
    }
    Ok(())
}

/// A folder that is removed in the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
