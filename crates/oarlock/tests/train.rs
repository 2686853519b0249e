//! Programs that were built here, run against what Fluid 1.8 computed.

use oarlock::prelude::*;
use oarlock_testkit::{Npz, Tolerance, assert_close};

use crate::fluid::program_archive;
use crate::programs::{ATTRIBUTES, Build, OPTIMIZERS, SCHEDULES};

/// Losses of a few steps of training.
pub(crate) const CLOSE: Tolerance = Tolerance::new(1e-4, 1e-5);

/// Runs the steps of a golden run and compares every value that it fetched, and the final values of all variables.
fn replay(name: &str, build: Build, fetches: &[&str], npz: &Npz) {
    let mut net = Net::new();
    build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
    replay_net(name, &net, fetches, npz);
}

/// Runs the steps of a golden run with a net; returns the scope at the end.
pub(crate) fn replay_net(name: &str, net: &Net, fetches: &[&str], npz: &Npz) -> Scope {
    let executor = Options::from_env().expect("good settings").executor();
    let scope = Scope::new();
    let arrays = |prefix: &str| -> Vec<(String, Tensor)> {
        let strip = |n: &str| n.strip_prefix(prefix).map(|v| (v.to_string(), npz.array(n).clone()));
        npz.names().filter_map(strip).collect()
    };
    executor.run(&net.startup, &[], &[], &scope).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (var, value) in arrays("init/") {
        scope.set(&var, value);
    }
    let feeds = (0..).take_while(|k| !arrays(&format!("feed{k}/")).is_empty()).count();
    let steps = (0..).take_while(|s| npz.get(&format!("step{s}/fetch0")).is_some()).count();
    assert!(steps > 0, "{name}: a golden run has steps");
    for step in 0..steps {
        let feed = arrays(&format!("feed{}/", step % feeds.max(1)));
        let feed: Vec<(&str, &Tensor)> = feed.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let found =
            executor.run_tensors(&net.main, &feed, fetches, &scope).unwrap_or_else(|e| panic!("{name} {step}: {e}"));
        for (j, value) in found.iter().enumerate() {
            let what = format!("{name}: {} of step {step}", fetches[j]);
            assert_close(&what, value, npz.array(&format!("step{step}/fetch{j}")), CLOSE);
        }
    }
    for (var, expected) in arrays("final/") {
        let found = scope.tensor(&var).unwrap_or_else(|| panic!("{name}: `{var}` is not in the scope"));
        assert_close(&format!("{name}: {var} at the end"), &found, &expected, CLOSE);
    }
    scope
}

#[test]
fn training_computes_what_fluid_computed() {
    for (name, build) in OPTIMIZERS.iter().chain(&ATTRIBUTES) {
        let npz = program_archive(name);
        replay(name, *build, &["mean_0.tmp_0"], &npz);
    }
}

#[test]
fn schedules_compute_what_fluid_computed() {
    let rates =
        ["tmp_4", "tmp_4", "tmp_4", "learning_rate_warmup", "tmp_2", "tmp_3", "learning_rate", "tmp_5", "tmp_8"];
    for ((name, build), rate) in SCHEDULES.iter().zip(rates) {
        let npz = program_archive(name);
        replay(name, *build, &[rate], &npz);
    }
}

/// A variable that a run itself writes into the scope before it reads it is not there before the first run.
#[test]
fn a_first_run_reads_what_it_wrote_into_the_scope() {
    let text = "block 0 {
        var a: f32[1] persistable
        var b: f32[1] persistable
        var c: f32[1] persistable
        a = fill_constant() {shape: [1L], dtype: 5, value: 3.0}
        b = scale(X: a) {scale: 2.0}
        c = scale(X: b) {scale: 2.0}
    }";
    let (program, scope) = (Program::from_text(text).unwrap(), Scope::new());
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    exe.run(&program, &[], &[], &scope).unwrap();
    assert_eq!(scope.tensor("c").unwrap().data::<f32>().unwrap(), [12.0]);
}
