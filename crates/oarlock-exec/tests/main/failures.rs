//! A run that fails leaves every variable of its scope as it was.

use std::sync::atomic::Ordering;

use oarlock_exec::{ExecOptions, Executor};
use oarlock_ir::Kind;

use crate::{error, executor, options, program, run, scope, value, vector};

/// Overwrites `w` by an operator that cannot be checked before, and fails if `x` is positive.
const OVERWRITE: &str = "a = double(X: w)\n w = add(X: w, Y: a)\n w = add(X: w, Y: a)\n fail(X: x)";

#[test]
fn failed_run_restores_what_it_changed() {
    let (exe, scope, p) = (executor(), scope(1.0), program("x a *w", OVERWRITE));
    for _ in 0..2 {
        let text = error(&exe, &p, &[("x", &vector(&[1.0]))], &[], &scope);
        assert_eq!(text, "error[argument]: `fail` got 1\n  at (`fail`, block 0, op 3)");
        assert_eq!(value(&scope, "w"), 1.0);
    }
    run(&exe, &p, &[("x", &vector(&[0.0]))], &[], &scope);
    assert_eq!(value(&scope, "w"), 5.0);
}

#[test]
fn updates_at_the_end_are_all_checked_before_the_first_is_made() {
    let (exe, scope) = (executor(), scope(1.0));
    scope.set("v", vector(&[1.0]));
    let p = program(
        "x zero bad *w *v",
        "zero = total(X: x)\n bad = invert(X: x)\n ParamOut: w = subtract(Param: w, Grad: x)\n ParamOut: v = subtract(Param: v, Grad: bad)",
    );
    let text = error(&exe, &p, &[("x", &vector(&[f32::NAN]))], &[], &scope);
    assert_eq!(
        text,
        "error[argument]: `subtract`: input `Grad` = `x` is not a number\n  at (`subtract`, block 0, op 2)"
    );
    assert_eq!((value(&scope, "w"), value(&scope, "v")), (1.0, 1.0));
    assert!(exe.explain(&p, &["x"], &[]).unwrap().contains("from 2 on: all operators are checked"));
}

#[test]
fn stopped_run_changes_nothing_and_says_so() {
    let (exe, scope) = (executor(), scope(1.0));
    let p = program("x *w", "w = add(X: w, Y: x)\n stop()\n w = add(X: w, Y: x)");
    let stopped = exe.run(&p, &[("x", &vector(&[1.0]))], &[], &scope).unwrap_err();
    assert_eq!(
        (stopped.kind(), stopped.to_string().as_str()),
        (Kind::Interrupted, "error[interrupted]: the run was interrupted")
    );
    assert_eq!(value(&scope, "w"), 1.0);
    exe.runtime().stop_flag().store(false, Ordering::Relaxed);
    let p = program("x *w", "w = add(X: w, Y: x)");
    run(&exe, &p, &[("x", &vector(&[1.0]))], &[], &scope);
    assert_eq!(value(&scope, "w"), 2.0);
}

#[test]
fn nan_check_names_the_operator_the_variable_and_the_element() {
    let exe = Executor::new(ExecOptions { check_nan_inf: true, ..options() });
    let (scope, p) = (
        scope(1.0),
        program("x a *w", "a = invert(X: x) at \"train.py:3\"\n ParamOut: w = subtract(Param: w, Grad: a)"),
    );
    let text = error(&exe, &p, &[("x", &vector(&[1.0, 0.0]))], &["a"], &scope);
    assert_eq!(
        text,
        "error[nan]: `invert` wrote inf into `a` (element 1)\n  at train.py:3 (`invert`, block 0, op 0)\n  \
         no variable of the scope was changed by this run\n  \
         help: look at this operator's inputs; a smaller learning rate or gradient clipping often helps"
    );
    assert_eq!(value(&scope, "w"), 1.0);
    exe.runtime().set_label(|| "trainer 1".into());
    let text = error(&exe, &p, &[("x", &vector(&[0.0]))], &["a"], &scope);
    assert!(text.starts_with("error[nan]: in trainer 1, `invert` wrote inf into `a` (element 0)\n"), "{text}");
    assert_eq!(run(&executor(), &p, &[("x", &vector(&[0.5]))], &["a"], &scope), [2.0], "nothing is checked otherwise");
}
