//! Fluid 1.8's training runs, step by step: from its own programs.
//!
//! `OARLOCK_GOLDEN` names the full set; without it the copies kept here are used (some large tensors are left out there).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::Program;
use oarlock_tensor::{Dims, Lod, Tensor};
use oarlock_testkit::{Npz, Tolerance, assert_close, golden_dir};

use crate::fluid::skipped;

/// The runs, with the tolerance for final values: Adam divides by the root of tiny gradients, which magnifies rounding.
pub(crate) const RUNS: [(&str, f64); 7] = [
    ("fit_a_line", 1e-5),
    ("fit_a_line_decay", 1e-5),
    ("mnist_mlp", 1e-4),
    ("lenet_bn", 1e-5),
    ("ctr_dnn_sgd", 1e-5),
    ("ctr_dnn_adam", 1e-4),
    ("ctr_dnn_lod_sgd", 1e-5),
];

pub(crate) const STEPS: usize = 20;

/// The runs whose operators exist here.
pub(crate) fn runs() -> impl Iterator<Item = (&'static str, f64)> {
    let registry = oarlock::registry();
    RUNS.into_iter().filter(move |(net, _)| !skipped(net, &GoldenRun::read(net).main, &registry))
}

/// One run of Fluid 1.8.
pub(crate) struct GoldenRun {
    pub(crate) main: Program,
    pub(crate) startup: Program,
    pub(crate) test: Program,
    batches: Npz,
    pub(crate) loss: Vec<f32>,
    init: BTreeMap<String, Tensor>,
    end: BTreeMap<String, Tensor>,
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

impl GoldenRun {
    pub(crate) fn read(net: &str) -> GoldenRun {
        let dir = golden_dir().unwrap_or_else(here).join(net);
        let program = |file: &str| {
            let bytes = std::fs::read(dir.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            Program::from_bytes(&bytes).unwrap_or_else(|e| panic!("{file}: {e}"))
        };
        let batches = if net == "ctr_dnn_adam" { dir.with_file_name("ctr_dnn_sgd") } else { dir.clone() };
        GoldenRun {
            main: program("main.program"),
            startup: program("startup.program"),
            test: program("test.program"),
            batches: Npz::read(batches.join("batches.npz")),
            loss: Npz::read(here().join(net).join("loss.npz")).array("loss").data::<f32>().expect("f32").to_vec(),
            init: variables(&dir.join("init")),
            end: variables(&dir.join("final")),
        }
    }

    /// The feeds of a step.
    pub(crate) fn feeds(&self, step: usize) -> Vec<(String, Tensor)> {
        let inputs = self.batches.names().filter(|n| !n.contains('.'));
        inputs.map(|n| (n.to_string(), self.feed(n, step))).collect()
    }

    fn feed(&self, name: &str, step: usize) -> Tensor {
        let all = self.batches.array(name);
        let Some(offsets) = self.batches.get(&format!("{name}.step_offset")) else {
            let dims = Dims::new(&all.dims()[1..]);
            return part(all, step * dims.numel(), dims);
        };
        let offsets = offsets.data::<i64>().expect("offsets");
        let (from, to) = (offsets[step] as usize, offsets[step + 1] as usize);
        let mut ids = part(all, from, Dims::from([to - from, 1]));
        let lens = self.batches.array(&format!("{name}.lens"));
        let batch = lens.dims()[1];
        let lens: Vec<usize> = lens.to_f64()[step * batch..][..batch].iter().map(|&n| n as usize).collect();
        ids.set_lod(Lod::from_lengths(&[lens]));
        ids
    }
}

fn part(all: &Tensor, from: usize, dims: Dims) -> Tensor {
    let size = all.dtype().size();
    let mut t = Tensor::new();
    t.resize(all.dtype(), dims);
    t.bytes_mut().copy_from_slice(&all.bytes()[from * size..][..dims.numel() * size]);
    t
}

/// Variables by name: a directory of files in the full set, one archive here.
fn variables(path: &std::path::Path) -> BTreeMap<String, Tensor> {
    if let Ok(entries) = std::fs::read_dir(path) {
        let files = entries.map(|e| e.expect("an entry").path());
        let name = |p: &PathBuf| p.file_name().expect("a name").to_string_lossy().into_owned();
        return files.map(|p| (name(&p), oarlock_io::read_tensor_file(&p).expect("a tensor"))).collect();
    }
    let npz = Npz::read(path.with_extension("npz"));
    npz.names().map(|n| (n.to_string(), npz.array(n).clone())).collect()
}

pub(crate) fn executor(threads: usize, fuse: bool) -> Executor {
    executor_without(threads, fuse, &[])
}

fn executor_without(threads: usize, fuse: bool, without: &[&str]) -> Executor {
    Executor::new(ExecOptions {
        registry: Arc::new(oarlock::registry()),
        threads,
        fuse,
        without_fusions: without.iter().map(ToString::to_string).collect(),
        check_nan_inf: false,
    })
}

/// The variable that holds the loss: what the operator with the role "forward, loss" writes.
pub(crate) fn loss_name(program: &Program) -> String {
    let op = program.global().ops.iter().find(|op| op.role().0 == 256).expect("a loss");
    op.outputs.get("Out")[0].to_string()
}

/// Trains a program for all steps; returns the loss of each step and the scope.
pub(crate) fn train(exe: &Executor, startup: &Program, main: &Program, run: &GoldenRun) -> (Vec<f32>, Scope) {
    let scope = Scope::new();
    exe.run(startup, &[], &[], &scope).unwrap_or_else(|e| panic!("startup: {e}"));
    let loss = loss_name(main);
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let feeds = run.feeds(step);
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let out = exe.run_tensors(main, &feeds, &[&loss], &scope).unwrap_or_else(|e| panic!("step {step}: {e}"));
        losses.push(out[0].data::<f32>().expect("f32")[0]);
    }
    (losses, scope)
}

pub(crate) fn assert_losses(net: &str, found: &[f32], expected: &[f32]) {
    for (step, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-5 * b.abs(), "{net} step {step}: loss {a}, expected {b}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn startup_programs_give_the_same_parameters() {
    for (net, _) in runs() {
        let run = GoldenRun::read(net);
        let scope = Scope::new();
        executor(1, true).run(&run.startup, &[], &[], &scope).unwrap_or_else(|e| panic!("{net}: {e}"));
        for (name, expected) in &run.init {
            let found = scope.tensor(name).unwrap_or_else(|| panic!("{net}: no `{name}`"));
            // Normal random numbers go through a logarithm, which libraries round differently in the last place.
            let gaussian = net == "lenet_bn" && name.starts_with("conv");
            let tol = if gaussian { Tolerance::new(1.2e-7, 0.0) } else { Tolerance::EXACT };
            assert_close(&format!("{net} init `{name}`"), &found, expected, tol);
        }
    }
}

#[test]
fn every_step_has_the_same_loss_and_the_end_the_same_parameters() {
    for (net, tol) in runs() {
        let run = GoldenRun::read(net);
        let (losses, scope) = train(&executor(1, true), &run.startup, &run.main, &run);
        assert_losses(net, &losses, &run.loss);
        for (name, expected) in &run.end {
            let found = scope.tensor(name).unwrap_or_else(|| panic!("{net}: no `{name}`"));
            assert_close(&format!("{net} final `{name}`"), &found, expected, Tolerance::new(tol, tol));
        }
    }
}

/// The one fusion that rounds otherwise: rows that a batch names twice are updated twice.
const ROUNDS: &[&str] = &["lookup_sgd"];

#[test]
fn threads_and_fusions_change_no_bit() {
    for (net, _) in runs() {
        let run = GoldenRun::read(net);
        let same = |(threads, fuse, without): (usize, bool, &[&str]), other: (usize, bool, &[&str]), tol: Tolerance| {
            let train = |(threads, fuse, without)| {
                train(&executor_without(threads, fuse, without), &run.startup, &run.main, &run)
            };
            let ((losses, scope), (again, other)) = (train((threads, fuse, without)), train(other));
            assert_losses(net, &again, &losses);
            for name in scope.names() {
                let what = format!("{net}: `{name}` with {threads} threads, fused: {fuse}, but for {without:?}");
                let (Some(a), Some(b)) = (other.tensor(&name), scope.tensor(&name)) else { continue };
                assert_close(&what, &a, &b, tol);
            }
        };
        same((1, true, &[]), (1, true, &[]), Tolerance::EXACT);
        same((2, true, &[]), (1, true, &[]), Tolerance::EXACT);
        same((1, true, ROUNDS), (1, false, &[]), Tolerance::EXACT);
        same((1, true, &[]), (1, false, &[]), Tolerance::new(1e-6, 1e-6));
    }
}
