//! The likeliest mistakes, with the whole text a user sees.

use oarlock::prelude::*;
use oarlock_ir::{Op, append_op};

fn executor() -> Executor {
    Options { threads: 1, check_nan_inf: false }.executor()
}

fn tensor<const N: usize>(dims: [usize; N], data: &[f32]) -> Tensor {
    Tensor::from_slice(dims, data).expect("sizes that fit the data")
}

fn ids(data: &[i64]) -> Tensor {
    Tensor::from_slice([data.len(), 1], data).expect("sizes that fit the data")
}

/// A layer of 3 -> 2 with a loss.
fn line(net: &mut Net) -> VarRef {
    let x = net.checked_data("x", &[-1, 3], DType::F32, 0).expect("data");
    let y = net.fc(&x, Fc::size(2)).expect("a layer");
    net.mean(&y).expect("a loss")
}

/// The text of an error, with the lines of this file left out: they move whenever the test is edited.
fn text(e: &Error) -> String {
    let at = |line: &str| match line.split_once("tests/errors.rs:") {
        Some((before, rest)) => {
            let end = rest.find(' ').unwrap_or(rest.len());
            let before = before.trim_end_matches(|c: char| c != ' ');
            format!("{before}HERE{}", &rest[end..])
        }
        None => line.to_string(),
    };
    e.to_string().lines().map(at).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_text<T>(result: Result<T>, expected: &str) {
    match result {
        Ok(_) => panic!("should have failed"),
        Err(e) => assert_eq!(text(&e), expected),
    }
}

#[test]
fn a_shape_that_does_not_fit_a_layer() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([10])).expect("data");
    let w = net.create_parameter(&[16, 1], DType::F32, &ParamAttr::default()).expect("a parameter");
    assert_text(
        net.mul(&x, &w, 1, 1),
        "error[shape]: `mul` cannot multiply `X` = x f32[?, 10] by `Y` = create_parameter_0.w_0 f32[16, 1]
  at HERE (`mul`, block 0, op 0)
  columns of `X` (10) must equal rows of `Y` (16)
  help: make `Y` with 10 rows, or reshape `X`",
    );
}

#[test]
fn what_is_not_fed() {
    let mut net = Net::new();
    let loss = line(&mut net);
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    assert_text(
        exe.run(&net.main, &[], &[loss.name()], &scope),
        "error[missing]: `mul` needs `x`, but it is not fed
  at HERE (`mul`, block 0, op 0)
  help: add `x` to the feed",
    );
}

#[test]
fn a_dtype_that_is_not_declared() {
    let mut net = Net::new();
    let loss = line(&mut net);
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    let x = Tensor::from_slice([1, 3], &[1.0f64, 2.0, 3.0]).expect("three numbers");
    assert_text(
        exe.run(&net.main, &[("x", &x)], &[loss.name()], &scope),
        "error[dtype]: `x` is declared f32[?, 3], but a tensor of f64[1, 3] is fed
  help: feed f32, for example with .astype('float32')",
    );
    assert_text(
        exe.run(&net.main, &[("x", &tensor([1, 4], &[0.0; 4]))], &[loss.name()], &scope),
        "error[shape]: `x` is declared f32[?, 3], but a tensor of f32[1, 4] is fed
  help: every size but `?` must be as declared",
    );
}

#[test]
fn a_fetch_of_an_unknown_name() {
    let mut net = Net::new();
    line(&mut net);
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    let x = tensor([1, 3], &[0.0; 3]);
    assert_text(
        exe.run(&net.main, &[("x", &x)], &["mean_0.tmp_1"], &scope),
        "error[unknown]: `mean_0.tmp_1` is fetched, but the program has no such variable
  help: did you mean `mean_0.tmp_0`?",
    );
    assert_text(
        exe.run(&net.main, &[("x", &x)], &["mean_0"], &scope),
        "error[unknown]: `mean_0` is fetched, but the program has no such variable
  help: did you mean `mean_0.tmp_0`?",
    );
    assert_text(
        exe.run(&net.main, &[("xx", &x)], &[], &scope),
        "error[unknown]: `xx` is fed, but the program has no such variable
  help: did you mean `x`?",
    );
}

#[test]
fn the_startup_program_was_not_run() {
    let mut net = Net::new();
    let loss = line(&mut net);
    assert_text(
        executor().run(&net.main, &[("x", &tensor([1, 3], &[0.0; 3]))], &[loss.name()], &Scope::new()),
        "error[missing]: `elementwise_add` needs `fc_0.b_0`, but it has no value in this scope
  at HERE (`elementwise_add`, block 0, op 1)
  help: run the startup program in this scope first, or load a saved model",
    );
}

#[test]
fn an_id_outside_the_table() {
    let mut net = Net::new();
    let words = net.checked_data("words", &[-1, 1], DType::I64, 0).expect("data");
    let rows = net.embedding(&words, Embedding::size(10, 4)).expect("a layer");
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("startup");
    assert_text(
        exe.run(&net.main, &[("words", &ids(&[3, 10]))], &[rows.name()], &scope),
        "error[range]: `lookup_table`: input `Ids` = `words` holds id 10 at position 1, but input `W` = `embedding_0.w_0` has 10 rows
  at HERE (`lookup_table`, block 0, op 0)
  help: ids must be at least 0 and less than 10: enlarge the table, or map the ids (id % 10)",
    );
}

#[test]
fn a_label_outside_the_classes() {
    let mut net = Net::new();
    let p = net.checked_data("p", &[-1, 2], DType::F32, 0).expect("data");
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0).expect("data");
    let cost = net.cross_entropy(&p, &label, CrossEntropy::new()).expect("a layer");
    let exe = executor();
    let result = exe.run(
        &net.main,
        &[("p", &tensor([2, 2], &[0.5; 4])), ("label", &ids(&[1, 2]))],
        &[cost.name()],
        &Scope::new(),
    );
    assert_text(
        result,
        "error[range]: `cross_entropy2`: input `Label` = `label` has label 2 in row 1, but there are 2 classes
  at HERE (`cross_entropy2`, block 0, op 0)",
    );
}

#[test]
fn unknown_operator_is_named() {
    let mut program = Program::new();
    let registry = oarlock::registry();
    assert_text(
        append_op(&mut program, 0, Op::new("reluu"), &registry),
        "error[unknown]: there is no operator `reluu`
  at (`reluu`, block 0, op 0)
  help: did you mean `relu`?",
    );
}

#[test]
fn unknown_attribute_is_named() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([3])).expect("data");
    let op = Op::new("scale").input("X", [x.name()]).output("Out", [x.name()]).attr("scala", 2.0f32);
    let registry = oarlock::registry();
    assert_text(
        append_op(&mut net.main, 0, op, &registry),
        "error[unknown]: `scale` has no attribute `scala`
  at (`scale`, block 0, op 0)
  help: did you mean `scale`?",
    );
}

#[test]
fn no_gradient_on_the_way_to_the_loss() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([3])).expect("data");
    let y = net.fc(&x, Fc::size(4)).expect("a layer");
    // `average_accumulates` updates a running sum; nothing differentiates it.
    let out =
        net.main.global_mut().set_var(oarlock_ir::Var::new("sum", oarlock_ir::VarType::tensor(DType::F32, vec![])));
    let out = out.name.clone();
    let op = Op::new("merge_selected_rows").input("X", [y.name()]).output("Out", [&out]).attr("op_role", 0);
    net.main.global_mut().ops.push(op);
    let sum = net.find("sum").expect("just made");
    net.var_mut(&sum).expect("just made").shape = oarlock_ir::Shape::from_i64(&[-1, 4]);
    let loss = net.mean(&sum).expect("a loss");
    assert_text(
        optimizer::sgd(0.1).minimize(&mut net, &loss),
        "error[no-gradient]: `merge_selected_rows` has no gradient, but the loss depends on its output through it
  at (`merge_selected_rows`, block 0, op 2)
  help: set stop_gradient on its inputs or outputs if no gradient should flow there, or use another operator",
    );
}

#[test]
fn a_failed_run_changes_nothing() {
    // A batch norm writes statistics, the loss has a nan, and the last update fails: nothing may have changed.
    let mut net = Net::new();
    net.seed(3);
    let x = net.checked_data("x", &[-1, 3], DType::F32, 0).expect("data");
    let h = net.batch_norm(&x, BatchNorm::new()).expect("a layer");
    let y = net.fc(&h, Fc::size(2)).expect("a layer");
    let loss = net.mean(&y).expect("a loss");
    optimizer::adam(0.1).minimize(&mut net, &loss).expect("an optimizer");
    let scope = Scope::new();
    executor().run(&net.startup, &[], &[], &scope).expect("startup");
    let before: Vec<_> = scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect();
    let good = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
    let bad = tensor([2, 3], &[1.0, f32::NAN, 3.0, 4.0, 6.0, 8.0]);

    let checking = Options { threads: 1, check_nan_inf: true }.executor();
    let e = checking.run(&net.main, &[("x", &bad)], &[loss.name()], &scope).expect_err("a nan");
    assert_eq!(e.kind(), oarlock::Kind::Nan);
    assert_eq!(e.report().what, "`batch_norm` wrote NaN into `batch_norm_0.w_1` (element 1)");
    assert_eq!(scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect::<Vec<_>>(), before);

    // A moment of the wrong size makes the last update fail, after everything else ran.
    let moment = scope.tensor("fc_0.w_0_moment1_0");
    scope.set("fc_0.w_0_moment1_0", tensor([1, 1], &[0.0]));
    let before: Vec<_> = scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect();
    executor().run(&net.main, &[("x", &good)], &[loss.name()], &scope).expect_err("a moment of one element");
    assert_eq!(scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect::<Vec<_>>(), before);

    scope.set("fc_0.w_0_moment1_0", moment.expect("the optimizer made it"));
    scope.set("learning_rate_0", Tensor::scalar(f32::INFINITY));
    let before: Vec<_> = scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect();
    let e = checking.run(&net.main, &[("x", &good)], &[loss.name()], &scope).expect_err("infinite parameters");
    assert!(e.report().what.starts_with("`adam` wrote "), "{e}");
    assert_eq!(scope.names().iter().map(|n| (n.clone(), scope.tensor(n))).collect::<Vec<_>>(), before);
}
