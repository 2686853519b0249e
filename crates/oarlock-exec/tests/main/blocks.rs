//! Operators that run blocks.

use oarlock_exec::Scope;

use crate::{error, executor, run, scope, text, value, vector};

#[test]
fn block_runs_as_often_as_its_operator_says_and_sees_outer_variables() {
    let p = text(
        "block 0 {
            var x: f32[?]
            var w: f32[1] persistable
            repeat() {sub_block: block 1, times: 3}
        }
        block 1 in 0 {
            var local: f32[?]
            local = double(X: x)
            w = add(X: w, Y: local)
        }",
    );
    let scope = scope(1.0);
    run(&executor(), &p, &[("x", &vector(&[2.0]))], &[], &scope);
    assert_eq!(value(&scope, "w"), 13.0);
}

#[test]
fn variable_that_a_block_did_not_write_is_empty_in_the_next_run() {
    let p = text(
        "block 0 {
            var x: f32[?]
            var y: f32[?]
            repeat() {sub_block: block 1, times: 1}
            fail(X: x) {limit: 5.0}
        }
        block 1 in 0 {
            y = double(X: x)
        }",
    );
    let never = text(&p.to_text().replace("times: 1", "times: 0"));
    let (exe, x) = (executor(), vector(&[1.0]));
    assert_eq!(run(&exe, &p, &[("x", &x)], &["y"], &Scope::new()), [2.0]);
    assert_eq!(
        error(&exe, &never, &[("x", &x)], &["y"], &Scope::new()),
        "error[missing]: `y` is fetched, but this run did not write it\n  \
         help: fetch a variable that an operator of this program computes"
    );
}

#[test]
fn failure_inside_a_block_names_its_operator_and_is_undone() {
    let p = text(
        "block 0 {
            var x: f32[?]
            var w: f32[1] persistable
            repeat() {sub_block: block 1, times: 2}
        }
        block 1 in 0 {
            w = add(X: w, Y: x)
            fail(X: w) {limit: 2.0} at \"train.py:9\"
        }",
    );
    let scope = scope(1.0);
    let text = error(&executor(), &p, &[("x", &vector(&[1.0]))], &[], &scope);
    assert_eq!(text, "error[argument]: `fail` got 3\n  at train.py:9 (`fail`, block 1, op 1)");
    assert_eq!(value(&scope, "w"), 1.0);
}
