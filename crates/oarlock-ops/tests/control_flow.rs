//! Loops and branches as whole programs: gradients against numeric differentiation, loops in loops, errors, interruption.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Attr, BackwardOptions, Kind, Name, Op, Program, Registry, Var, VarKind, VarType, append_backward};
use oarlock_tensor::{DType, Tensor};

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new(oarlock_ops::ops(), oarlock_ops::fusions()))
}

fn executor() -> Executor {
    Executor::new(ExecOptions {
        registry: registry(),
        threads: 1,
        fuse: true,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    })
}

fn tensor(data: &[f32]) -> Tensor {
    Tensor::from_slice([data.len()], data).expect("one row")
}

fn count(n: i64) -> Tensor {
    Tensor::scalar(n)
}

fn program(text: &str) -> Program {
    Program::from_text(&format!("program 1008005\n{text}")).unwrap_or_else(|e| panic!("{e}"))
}

/// A program with a loss, its gradients, and an executor that keeps its memory from run to run.
struct Net {
    program: Program,
    executor: Executor,
    inputs: Vec<Name>,
    grads: Vec<Name>,
}

impl Net {
    /// Appends the gradients of `loss` with respect to the inputs.
    fn new(text: &str, inputs: &[&str]) -> Net {
        let mut program = program(text);
        let inputs: Vec<Name> = inputs.iter().map(|&n| n.into()).collect();
        let options = BackwardOptions {
            parameter_list: Some(inputs.clone()),
            no_grad_set: HashSet::new(),
            after_op: None,
            checkpoints: &[],
        };
        let pairs = append_backward(&mut program, (0, "loss"), &registry(), &options);
        let grads = pairs.unwrap_or_else(|e| panic!("{e}")).into_iter().map(|(_, grad)| grad).collect();
        Net { program, executor: executor(), inputs, grads }
    }

    fn run(&self, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Vec<Tensor> {
        let scope = Scope::new();
        let values = self.executor.run_tensors(&self.program, feeds, fetches, &scope);
        let values = values.unwrap_or_else(|e| panic!("{e}\n{}", self.program.summary()));
        assert_eq!(scope.names(), Vec::<Name>::new(), "temporaries are not left in the scope");
        values
    }

    /// Compares every gradient with numeric differentiation.
    #[track_caller]
    fn check(&self, feeds: &[(&str, Tensor)]) {
        let refs = |feeds: &[(&str, Tensor)]| -> Vec<(String, Tensor)> {
            feeds.iter().map(|(n, t)| (n.to_string(), t.clone())).collect()
        };
        let run = |feeds: &[(String, Tensor)], fetches: &[&str]| {
            let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
            self.run(&feeds, fetches)
        };
        let grads: Vec<&str> = self.grads.iter().map(|n| n.as_str()).collect();
        let found = run(&refs(feeds), &grads);
        for (input, found) in self.inputs.iter().zip(found) {
            let at = feeds.iter().position(|(n, _)| input == *n).expect("a fed input");
            let expected: Vec<f64> = (0..feeds[at].1.numel())
                .map(|i| {
                    let side = |delta: f32| {
                        let mut moved = refs(feeds);
                        moved[at].1.data_mut::<f32>().expect("f32")[i] += delta;
                        run(&moved, &["loss"])[0].to_f64()[0]
                    };
                    let step = 1e-2f32;
                    let (a, b) = (side(step) - side(-step), side(2.0 * step) - side(-2.0 * step));
                    (8.0 * a - b) / (12.0 * step as f64)
                })
                .collect();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 + 5e-3 * b.abs();
            let same = found.to_f64().iter().zip(&expected).all(close) && found.numel() == expected.len();
            assert!(same, "gradient of {input} is {:?}, numerically {expected:?}", found.to_f64());
        }
    }
}

/// `v` is squared `n` times and multiplied by `w` each time; it is overwritten in every step.
const POWERS: &str = "
block 0 {
  var x: f32[2]
  var w: f32[2]
  var n: i64[1]
  var v: f32[2]
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  var loss: f32[1]
  v = scale(X: x) {scale: 1.0}
  i = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  go = less_than(X: i, Y: n)
  Out: [v, i, go], StepScopes: steps = while(Condition: go, X: [v, i, n, w]) {sub_block: block 1}
  loss = mean(X: v)
}
block 1 in 0 {
  var square: f32[2]
  var next: f32[2]
  var next_i: i64[1]
  var next_go: bool[1]
  square = elementwise_mul(X: v, Y: v)
  next = elementwise_mul(X: square, Y: w)
  next_i = scale(X: i) {scale: 1.0, bias: 1.0}
  next_go = less_than(X: next_i, Y: n)
  v = assign(X: next)
  i = assign(X: next_i)
  go = assign(X: next_go)
}";

#[test]
fn a_variable_that_every_step_overwrites() {
    let net = Net::new(POWERS, &["x", "w"]);
    let feeds = |n| [("x", tensor(&[0.9, -1.1])), ("w", tensor(&[0.8, 0.7])), ("n", count(n))];
    // Longer and shorter loops by turns: what an earlier run kept must not show.
    for n in [3, 1, 2, 4] {
        net.check(&feeds(n));
    }
}

#[test]
fn a_loop_that_does_not_run_passes_gradients_by() {
    let net = Net::new(POWERS, &["x", "w"]);
    let feeds = [("x", tensor(&[0.9, -1.1])), ("w", tensor(&[0.8, 0.7])), ("n", count(0))];
    net.check(&feeds);
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (*n, t)).collect();
    let found = net.run(&feeds, &["loss", "x@GRAD", "w@GRAD"]);
    assert_eq!(found[1], tensor(&[0.5, 0.5]));
    assert_eq!(found[2], tensor(&[0.0, 0.0]));
}

/// `v` is multiplied by `x` `n` times in each of `n` steps.
const NESTED: &str = "
block 0 {
  var x: f32[2]
  var n: i64[1]
  var v: f32[2]
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  var loss: f32[1]
  v = scale(X: x) {scale: 1.0}
  i = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  go = less_than(X: i, Y: n)
  Out: [v, i, go], StepScopes: steps = while(Condition: go, X: [v, i, n, x]) {sub_block: block 1}
  loss = mean(X: v)
}
block 1 in 0 {
  var j: i64[1]
  var more: bool[1]
  var u: f32[2]
  var inner: step_scopes
  j = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  u = scale(X: v) {scale: 0.5}
  more = less_than(X: j, Y: n)
  Out: [u, j, more], StepScopes: inner = while(Condition: more, X: [u, j, n, x]) {sub_block: block 2}
  v = assign(X: u)
  i = increment(X: i) {step: 1.0}
  go = less_than(X: i, Y: n)
}
block 2 in 1 {
  var product: f32[2]
  product = elementwise_mul(X: u, Y: x)
  u = assign(X: product)
  j = increment(X: j) {step: 1.0}
  more = less_than(X: j, Y: n)
}";

#[test]
fn a_loop_in_a_loop() {
    let net = Net::new(NESTED, &["x"]);
    for n in [2, 3, 1, 2] {
        net.check(&[("x", tensor(&[0.9, -1.2])), ("n", count(n))]);
    }
}

#[test]
fn only_the_last_step_writes_the_result() {
    // y = x * (i + 1), so after the loop y = n * x; and x is multiplied by 2 in every step.
    let net = Net::new(
        "
block 0 {
  var x: f32[2]
  var n: i64[1]
  var v: f32[2]
  var y: f32[2]
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  var squares: f32[2]
  var loss: f32[1]
  v = scale(X: x) {scale: 1.0}
  y = fill_constant() {shape: [2L], dtype: 5, value: 7.0}
  i = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  go = less_than(X: i, Y: n)
  Out: [v, y, i, go], StepScopes: steps = while(Condition: go, X: [v, i, n]) {sub_block: block 1}
  squares = square(X: y)
  loss = mean(X: squares)
}
block 1 in 0 {
  var double: f32[2]
  var cube: f32[2]
  cube = square(X: v)
  y = assign(X: cube)
  double = scale(X: v) {scale: 1.5}
  v = assign(X: double)
  i = increment(X: i) {step: 1.0}
  go = less_than(X: i, Y: n)
}",
        &["x"],
    );
    for n in [1, 3, 2] {
        net.check(&[("x", tensor(&[0.9, -0.4])), ("n", count(n))]);
    }
}

#[test]
fn a_variable_that_a_step_replaces_by_something_else() {
    // The first step adds x, all others 0.5: the gradient of x is that of the first step.
    let net = Net::new(
        "
block 0 {
  var x: f32[2]
  var n: i64[1]
  var v: f32[2]
  var total: f32[2]
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  var squares: f32[2]
  var loss: f32[1]
  v = scale(X: x) {scale: 1.0}
  total = fill_constant() {shape: [2L], dtype: 5, value: 0.0}
  i = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  go = less_than(X: i, Y: n)
  Out: [total, v, i, go], StepScopes: steps = while(Condition: go, X: [v, i, n, total]) {sub_block: block 1}
  squares = square(X: total)
  loss = mean(X: squares)
}
block 1 in 0 {
  var sum: f32[2]
  var half: f32[2]
  sum = elementwise_add(X: total, Y: v)
  total = assign(X: sum)
  half = fill_constant() {shape: [2L], dtype: 5, value: 0.5}
  v = assign(X: half)
  i = increment(X: i) {step: 1.0}
  go = less_than(X: i, Y: n)
}",
        &["x"],
    );
    for n in [1, 3, 2] {
        net.check(&[("x", tensor(&[0.9, -0.4])), ("n", count(n))]);
    }
}

/// In steps whose number is below `m`, `v` is squared; in the others it stays.
const BRANCH_IN_LOOP: &str = "
block 0 {
  var x: f32[2]
  var n: i64[1]
  var m: i64[1]
  var v: f32[2]
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  var loss: f32[1]
  v = scale(X: x) {scale: 1.0}
  i = fill_constant() {shape: [1L], dtype: 3, value: 0.0}
  go = less_than(X: i, Y: n)
  Out: [v, i, go], StepScopes: steps = while(Condition: go, X: [v, i, n, m]) {sub_block: block 1}
  loss = mean(X: v)
}
block 1 in 0 {
  var early: bool[1]
  var late: bool[1]
  var which: i32[1]
  var a: f32[2]
  var b: f32[2]
  var scope_a: step_scopes
  var scope_b: step_scopes
  var chosen: f32[2]
  early = less_than(X: i, Y: m)
  Out: a, Scope: scope_a = conditional_block(Cond: early, Input: v) {sub_block: block 2, is_scalar_condition: true}
  late = logical_not(X: early)
  Out: b, Scope: scope_b = conditional_block(Cond: late, Input: v) {sub_block: block 3, is_scalar_condition: true}
  which = cast(X: early) {in_dtype: 0, out_dtype: 2}
  chosen = select_input(Mask: which, X: [b, a])
  v = assign(X: chosen)
  i = increment(X: i) {step: 1.0}
  go = less_than(X: i, Y: n)
}
block 2 in 1 {
  var square: f32[2]
  square = square(X: v)
  a = assign(X: square)
}
block 3 in 1 {
  var half: f32[2]
  half = scale(X: v) {scale: 0.5}
  b = assign(X: half)
}";

#[test]
fn a_branch_in_a_loop() {
    let net = Net::new(BRANCH_IN_LOOP, &["x"]);
    for (n, m) in [(3, 2), (2, 0), (3, 3), (0, 1), (4, 1)] {
        net.check(&[("x", tensor(&[0.9, -1.3])), ("n", count(n)), ("m", count(m))]);
    }
}

#[test]
fn a_variable_that_a_branch_changes() {
    let net = Net::new(
        "
block 0 {
  var x: f32[2]
  var m: i64[1]
  var one: i64[1]
  var v: f32[2]
  var yes: bool[1]
  var scope: step_scopes
  var loss: f32[1]
  v = scale(X: x) {scale: 3.0}
  one = fill_constant() {shape: [1L], dtype: 3, value: 1.0}
  yes = less_than(X: m, Y: one)
  Out: v, Scope: scope = conditional_block(Cond: yes, Input: v) {sub_block: block 1, is_scalar_condition: true}
  loss = mean(X: v)
}
block 1 in 0 {
  var half: f32[2]
  half = scale(X: v) {scale: 0.5}
  v = assign(X: half)
}",
        &["x"],
    );
    for m in [0, 1, 0] {
        net.check(&[("x", tensor(&[0.9, -1.3])), ("m", count(m))]);
    }
}

/// h = tanh(row * w + h), outputs h; from the last row to the first if `reverse`.
fn network(reverse: bool) -> String {
    format!(
        "
block 0 {{
  var x: f32[?, 2]
  var h0: f32[2]
  var w: f32[2]
  var out: f32[?, 2]
  var steps: step_scopes
  var squares: f32[?, 2]
  var loss: f32[1]
  outputs: out, step_scopes: steps = recurrent(inputs: x, initial_states: h0, parameters: w) \
         {{sub_block: block 1, ex_states: [\"before\"], states: [\"after\"], has_states: true, reverse: {reverse}}}
  squares = square(X: out)
  loss = mean(X: squares)
}}
block 1 in 0 {{
  var x: f32[2]
  var before: f32[2]
  var after: f32[2]
  var out: f32[2]
  var product: f32[2]
  var sum: f32[2]
  var h: f32[2]
  product = elementwise_mul(X: x, Y: w)
  sum = elementwise_add(X: product, Y: before)
  h = tanh(X: sum)
  out = rnn_memory_helper(X: h)
  after = rnn_memory_helper(X: h)
}}"
    )
}

#[test]
fn a_recurrent_network_both_ways() {
    for reverse in [false, true] {
        let net = Net::new(&network(reverse), &["x", "h0", "w"]);
        for steps in [3, 1, 4] {
            let data: Vec<f32> = (0..2 * steps).map(|i| (i as f32 * 0.7).sin()).collect();
            let x = Tensor::from_slice([steps, 2], &data).expect("rows");
            net.check(&[("x", x), ("h0", tensor(&[0.2, -0.3])), ("w", tensor(&[0.8, -0.5]))]);
        }
    }
    let net = Net::new(&network(true), &["x"]);
    let x = Tensor::from_slice([2, 2], &[1.0f32, 2.0, 3.0, 4.0]).expect("rows");
    let found = net.run(&[("x", &x), ("h0", &tensor(&[0.0, 0.0])), ("w", &tensor(&[0.1, 0.1]))], &["out"]);
    let expected: Vec<f64> =
        vec![(0.3f64.tanh() + 0.1).tanh(), (0.4f64.tanh() + 0.2).tanh(), 0.3f64.tanh(), 0.4f64.tanh()];
    assert!(found[0].to_f64().iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
}

#[test]
fn a_network_needs_steps() {
    let net = Net::new(&network(false), &["x"]);
    let (x, h0) = (Tensor::zeros(DType::F32, [0, 2]), tensor(&[0.0, 0.0]));
    let feeds = [("x", &x), ("h0", &h0), ("w", &h0)];
    let e = net.executor.run(&net.program, &feeds, &["loss"], &Scope::new()).expect_err("no rows");
    assert_eq!(
        e.to_string(),
        "error[shape]: `recurrent` has no step to run: its inputs have no rows\n  at (`recurrent`, block 0, op 0)\n  \
         help: feed sequences of at least one step"
    );
}

#[test]
fn an_error_in_a_block_names_block_and_operator() {
    let net = Net::new(NESTED, &["x"]);
    let (x, bad, n) = (tensor(&[1.0, 2.0]), tensor(&[1.0, 2.0, 3.0]), count(1));
    let mut program = net.program.clone();
    program.block_mut(2).ops[0].inputs.set("Y", vec!["other".into()]);
    program.global_mut().set_var(Var::new("other", VarType::tensor(DType::F32, vec![])));
    let feeds = [("x", &x), ("n", &n), ("other", &bad)];
    let e = net.executor.run(&program, &feeds, &["loss"], &Scope::new()).expect_err("3 does not fit 2");
    assert!(e.to_string().contains("(`elementwise_mul`, block 2, op 0)"), "{e}");
    // The same executor still works.
    net.check(&[("x", x), ("n", n)]);
}

#[test]
fn a_condition_is_one_bool() {
    let mut program = program(POWERS);
    program.global_mut().ops[2] = Op::new("assign").input("X", ["i"]).output("Out", ["go"]);
    let (x, n) = (tensor(&[1.0, 2.0]), count(1));
    let feeds = [("x", &x), ("w", &x), ("n", &n)];
    let e = executor().run(&program, &feeds, &["loss"], &Scope::new()).expect_err("no bool");
    assert_eq!(
        e.to_string(),
        "error[shape]: `while`: input `Condition` = `go` must be one bool, but it is i64[1]\n  at (`while`, block 0, op 3)"
    );
}

#[test]
fn test_mode_keeps_no_steps() {
    let net = Net::new(POWERS, &["x"]);
    let mut program = net.program.clone();
    program.global_mut().ops[3].attrs.set("is_test", true);
    let (x, n) = (tensor(&[1.0, 2.0]), count(2));
    let feeds = [("x", &x), ("w", &x), ("n", &n)];
    let loss = executor().run(&program, &feeds, &["v", "x@GRAD"], &Scope::new());
    let e = loss.expect_err("no steps");
    assert_eq!(e.kind(), Kind::Missing);
    assert!(e.to_string().contains("input `StepScopes` = `steps` holds no steps of the forward operator"), "{e}");
}

#[test]
fn an_endless_loop_can_be_stopped() {
    for body in ["", "  i = increment(X: i) {step: 1.0}\n"] {
        let text = format!(
            "
block 0 {{
  var i: i64[1]
  var go: bool[1]
  var steps: step_scopes
  i = fill_constant() {{shape: [1L], dtype: 3, value: 0.0}}
  go = equal(X: i, Y: i)
  Out: i, StepScopes: steps = while(Condition: go, X: i) {{sub_block: block 1}}
}}
block 1 in 0 {{
{body}}}"
        );
        let program = program(&text);
        let executor = executor();
        let stop = executor.runtime().stop_flag();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
        });
        let e = executor.run(&program, &[], &["i"], &Scope::new()).expect_err("it never ends");
        assert_eq!(e.kind(), Kind::Interrupted);
        timer.join().expect("the timer");
    }
}

#[test]
fn branches_nest_deeply() {
    const DEPTH: usize = 100;
    let mut program = Program::new();
    for (name, dtype) in [("x", DType::F32), ("y", DType::F32), ("yes", DType::Bool)] {
        program.global_mut().set_var(Var::new(name, VarType::tensor(dtype, vec![])));
    }
    for block in 0..DEPTH {
        let sub = program.add_block(block);
        let scopes = VarType::tensor(DType::F32, vec![]).with_kind(VarKind::StepScopes);
        program.block_mut(block).set_var(Var::new("scope", scopes));
        let op = Op::new("conditional_block").input("Cond", ["yes"]).input("Input", ["x"]).output("Out", ["y"]);
        let op = op.output("Scope", ["scope"]).attr("is_scalar_condition", true).attr("sub_block", Attr::Block(sub));
        program.block_mut(block).ops.push(op);
    }
    program.block_mut(DEPTH).ops.push(Op::new("scale").input("X", ["x"]).output("Out", ["y"]).attr("scale", 2.0f32));
    let executor = executor();
    let (x, yes) = (tensor(&[1.5]), Tensor::scalar(oarlock_tensor::B8::from(true)));
    let found = executor.run_tensors(&program, &[("x", &x), ("yes", &yes)], &["y"], &Scope::new());
    assert_eq!(found.unwrap_or_else(|e| panic!("{e}")), [tensor(&[3.0])]);
}

#[test]
fn a_block_cannot_run_itself() {
    let mut program = program(POWERS);
    let again = program.global().ops[3].clone();
    program.block_mut(1).ops.push(again);
    let x = tensor(&[1.0, 2.0]);
    let e = executor().run(&program, &[("x", &x), ("w", &x), ("n", &count(1))], &["loss"], &Scope::new());
    let text = e.expect_err("a block in itself").to_string();
    assert!(text.contains("attribute `sub_block` refers to block 1, which does not stand inside block 1"), "{text}");
}
