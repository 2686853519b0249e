//! The memory of a warmed-up training loop: no allocations, and peaks that `memory_optimize` lowers.

use std::sync::Arc;

use oarlock::prelude::*;
use oarlock::{JobOptions, JobRuntime};
use oarlock_ir::{MemoryOptions, memory_optimize, release_memory};
use oarlock_tensor::Value;

use crate::allocations::count_allocations;

/// A click model like the benchmark's, with a smaller table.
fn click_model(net: &mut Net) -> VarRef {
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0).expect("data");
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0).expect("data")];
    for i in 0..4 {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0).expect("data");
        let table = Embedding::size(5000, 10).is_sparse(true).param_attr(ParamAttr::name("table"));
        features.push(net.embedding(&ids, table).expect("a layer"));
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1).expect("a layer");
    for _ in 0..2 {
        x = net.fc(&x, Fc::size(40).act("relu")).expect("a layer");
    }
    let p = net.fc(&x, Fc::size(2).act("softmax")).expect("a layer");
    let cost = net.cross_entropy(&p, &label, CrossEntropy::new()).expect("a layer");
    let loss = net.mean(&cost).expect("a loss");
    net.auc(&p, &label, Auc::new()).expect("a metric");
    loss
}

fn batch(rows: usize) -> Vec<(String, Tensor)> {
    let ids = |slot: usize| (0..rows).map(|r| ((r * 131 + slot * 977) % 5000) as i64).collect::<Vec<_>>();
    let mut feeds: Vec<(String, Tensor)> =
        (0..4).map(|i| (format!("C{i}"), Tensor::from_slice([rows, 1], &ids(i)).expect("ids"))).collect();
    let dense: Vec<f32> = (0..rows * 13).map(|i| (i % 17) as f32 / 17.0).collect();
    feeds.push(("dense".into(), Tensor::from_slice([rows, 13], &dense).expect("numbers")));
    let label: Vec<i64> = (0..rows).map(|r| (r % 3 == 0) as i64).collect();
    feeds.push(("label".into(), Tensor::from_slice([rows, 1], &label).expect("labels")));
    feeds
}

fn run(exe: &Executor, net: &Net, loss: &VarRef, scope: &Scope, batch: &[(&str, &Tensor)], out: &mut Vec<Value>) {
    exe.run_into(&net.main, batch, &[loss.name()], scope, out).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_warmed_up_step_allocates_nothing() {
    for optimizer in ["sgd", "adam"] {
        let mut net = Net::new();
        let loss = click_model(&mut net);
        match optimizer {
            "sgd" => optimizer::sgd(0.1).minimize(&mut net, &loss),
            _ => optimizer::adam(0.1).lazy_mode(true).minimize(&mut net, &loss),
        }
        .expect("an optimizer");
        let exe = Options { threads: 1, check_nan_inf: false }.executor();
        let scope = Scope::new();
        exe.run(&net.startup, &[], &[], &scope).expect("startup");
        let batches: Vec<_> = [1000, 1000, 640, 1000].map(batch).into();
        let feeds: Vec<Vec<(&str, &Tensor)>> =
            batches.iter().map(|b| b.iter().map(|(n, t)| (n.as_str(), t)).collect()).collect();
        let mut out = Vec::new();
        for feed in feeds.iter().chain(&feeds) {
            run(&exe, &net, &loss, &scope, feed, &mut out);
        }
        let count = count_allocations(|| {
            for feed in &feeds {
                run(&exe, &net, &loss, &scope, feed, &mut out);
            }
        });
        assert_eq!(count, 0, "{optimizer}: allocations in four warmed-up steps");
    }
}

/// The peak of temporaries of a few steps, in bytes, and the loss of the last one.
fn peak(change: impl FnOnce(&mut Program)) -> (usize, f64) {
    let mut net = Net::new();
    net.seed(7);
    let loss = click_model(&mut net);
    optimizer::sgd(0.1).minimize(&mut net, &loss).expect("an optimizer");
    change(&mut net.main);
    let mut options = Options { threads: 1, check_nan_inf: false }.exec_options(net.registry().clone());
    // Without fusions there is more to save.
    options.fuse = false;
    let exe = Executor::new(options, Arc::new(JobRuntime::new(1, JobOptions::default())));
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    let feeds = batch(200);
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let mut out = Vec::new();
    for _ in 0..3 {
        run(&exe, &net, &loss, &scope, &feeds, &mut out);
    }
    let peak = exe.memory(&net.main).expect("it ran").peak_bytes;
    (peak, out[0].dense().expect("a tensor").to_f64()[0])
}

#[test]
fn memory_optimize_and_release_memory_lower_the_peak_and_change_no_bit() {
    let (plain, loss) = peak(|_| {});
    let optimize = |p: &mut Program| assert!(memory_optimize(p, &MemoryOptions::default()).is_empty());
    let release = |p: &mut Program| assert!(release_memory(p, &MemoryOptions::default()).is_empty());
    let (shared, shared_loss) = peak(optimize);
    let (released, released_loss) = peak(release);
    assert!(shared < plain, "memory_optimize: {shared} bytes, without {plain}");
    assert!(released < plain, "release_memory: {released} bytes, without {plain}");
    assert_eq!((shared_loss, released_loss), (loss, loss));
}

#[test]
fn a_profile_names_operators_and_traces_them() {
    let mut net = Net::new();
    let loss = click_model(&mut net);
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    let feeds = batch(10);
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
    exe.start_profile();
    exe.run(&net.main, &feeds, &[loss.name()], &scope).expect("a step");
    let profile = exe.stop_profile().expect("it was started");
    let layers = profile.by_type().into_iter().find(|t| t.op_type == "fused_fc").expect("layers");
    assert_eq!(layers.calls, 3);
    assert!(profile.to_string().contains("fused_fc"));
    let trace = oarlock_testkit::json::from_str::<oarlock_testkit::Json>(&profile.chrome_trace()).expect("JSON");
    assert_eq!(trace["traceEvents"][0]["ph"], "X");
    assert!(exe.stop_profile().is_none());
}
