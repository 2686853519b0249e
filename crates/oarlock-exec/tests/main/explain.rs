//! Slots, in-place operators and last uses, as `explain` shows them.

use expect_test::{Expect, expect};
use oarlock_ir::Program;

use crate::{executor, program, text};

/// Compares the plan, without the program and its passes.
fn check(program: &Program, fetches: &[&str], expected: Expect) {
    let text = executor().explain(program, &["x"], fetches).unwrap();
    expected.assert_eq(&text[text.find("plan:").unwrap()..]);
}

#[test]
fn temporaries_that_are_never_alive_together_share_a_slot() {
    let p = program("x a b c d", "a = double(X: x)\n b = double(X: a)\n c = double(X: b)\n d = double(X: c)");
    check(
        &p,
        &["d"],
        expect![[r#"
        plan: 4 slots
        feed x -> 3
        fetch d <- 2
        block 0:
            0 double(x[3]) -> a[0]; last use of 3
            1 double(a[0]) -> b[1]; last use of 0
            2 double(b[1]) -> c[0]; last use of 1
            3 double(c[0]) -> d[2]; last use of 0
    "#]],
    );
}

#[test]
fn operator_works_in_place_where_its_input_ends() {
    let p = program("x a b c", "a = double(X: x)\n b = add(X: a, Y: x)\n c = add(X: b, Y: b)");
    check(
        &p,
        &["c"],
        expect![[r#"
        plan: 3 slots
        feed x -> 2
        fetch c <- 1
        block 0:
            0 double(x[2]) -> a[0]
            1 add(a[0], x[2]) -> b[0]; in place 0; last use of 2
            2 add(b[0], b[0]) -> c[1]; last use of 0
    "#]],
    );
}

#[test]
fn output_that_is_an_input_is_written_elsewhere_and_exchanged() {
    let p = program("x a", "a = double(X: x)\n a = double(X: a)");
    check(
        &p,
        &["a"],
        expect![[r#"
        plan: 3 slots
        feed x -> 1
        fetch a <- 0
        block 0:
            0 double(x[1]) -> a[0]; last use of 1
            1 double(a[0]) -> a[0]; writes 2, exchanged with 0
    "#]],
    );
}

#[test]
fn variables_of_the_scope_and_memory_to_give_back_are_shown() {
    let mut p = program("x a b *w", "a = double(X: x)\n b = total(X: a)\n ParamOut: w = subtract(Param: w, Grad: b)");
    p.memory.release = true;
    check(
        &p,
        &["b"],
        expect![[r#"
        plan: 4 slots
        feed x -> 3
        scope w -> 0, written
        fetch b <- 2
        block 0:
            0 double(x[3]) -> a[1]; last use of 3
            1 total(a[1]) -> b[2]; last use of 1; gives back 1
            2 subtract(b[2], w[0]) -> w[0]; in place 0
        from 2 on: all operators are checked before the first of them runs
    "#]],
    );
}

#[test]
fn passes_show_the_lines_they_change() {
    let p = text(
        "block 0 {
            var f: feed_list
            var x: f32[?]
            var y: f32[?]
            x = feed(X: f) {col: 0}
            y = double(X: x)
        }",
    );
    expect![[r#"
        program 1008005
        block 0 {
          var f: feed_list
          var x: f32[?]
          var y: f32[?]
          x = feed(X: f) {col: 0}
          y = double(X: x)
        }

        pass drop_ports:
        - x = feed(X: f) {col: 0}
        pass drop_fed_reads: no change
        pass declare_gradients: no change

        plan: 2 slots
        feed x -> 0
        fetch y <- 1
        block 0:
            0 double(x[0]) -> y[1]; last use of 0
    "#]]
    .assert_eq(&executor().explain(&p, &["x"], &["y"]).unwrap());
}
