//! Feeds and fetches must fit the program; every mistake is named.

use oarlock_exec::Scope;
use oarlock_tensor::{Lod, Tensor};

use crate::{error, executor, program, run, scope, text, value, vector};

#[test]
fn unknown_feeds_and_fetches_are_named_with_the_nearest_variable() {
    let (exe, p, x) = (executor(), program("input a", "a = double(X: input)"), vector(&[1.0]));
    assert_eq!(
        error(&exe, &p, &[("inptu", &x)], &["a"], &Scope::new()),
        "error[unknown]: `inptu` is fed, but the program has no such variable\n  help: did you mean `input`?"
    );
    assert_eq!(
        error(&exe, &p, &[("input", &x)], &["loss_of_all"], &Scope::new()),
        "error[unknown]: `loss_of_all` is fetched, but the program has no such variable\n  \
         help: pass the name of one of the program's 2 variables"
    );
}

#[test]
fn variable_that_is_not_fed_is_named_with_the_operator_that_needs_it() {
    let p = program("x a", "a = double(X: x) at \"train.py:7 in net\"");
    assert_eq!(
        error(&executor(), &p, &[], &["a"], &Scope::new()),
        "error[missing]: `double` needs `x`, but it is not fed\n  at train.py:7 in net (`double`, block 0, op 0)\n  \
         help: add `x` to the feed"
    );
}

#[test]
fn parameter_without_value_asks_for_the_startup_program() {
    let p = program("*w a", "a = double(X: w)");
    assert_eq!(
        error(&executor(), &p, &[], &["a"], &Scope::new()),
        "error[missing]: `double` needs `w`, but it has no value in this scope\n  at (`double`, block 0, op 0)\n  \
         help: run the startup program in this scope first, or load a saved model"
    );
}

#[test]
fn fetched_variable_that_no_operator_writes_comes_from_the_scope_or_is_missing() {
    let p = program("*w unused", "");
    assert_eq!(run(&executor(), &p, &[], &["w"], &scope(3.0)), [3.0]);
    assert_eq!(
        error(&executor(), &p, &[], &["unused"], &Scope::new()),
        "error[missing]: the fetch list needs `unused`, but it is not fed\n  help: add `unused` to the feed"
    );
}

#[test]
fn fed_tensor_must_be_as_declared() {
    let p = text("block 0 {\nvar x: f32[?, 2] need_check_feed\nvar a: f32[?, 2]\na = double(X: x)\n}");
    let feed = |t: &Tensor| error(&executor(), &p, &[("x", t)], &["a"], &Scope::new());
    assert_eq!(
        feed(&Tensor::from_slice([1, 2], &[1i64, 2]).unwrap()),
        "error[dtype]: `x` is declared f32[?, 2], but a tensor of i64[1, 2] is fed\n  \
         help: feed f32, for example with .astype('float32')"
    );
    assert_eq!(
        feed(&Tensor::from_slice([1, 3], &[1.0f32; 3]).unwrap()),
        "error[shape]: `x` is declared f32[?, 2], but a tensor of f32[1, 3] is fed\n  \
         help: every size but `?` must be as declared"
    );
    let mut lod = Tensor::from_slice([2, 2], &[1.0f32; 4]).unwrap();
    lod.set_lod(Lod::from_lengths(&[vec![3]]));
    assert!(feed(&lod).starts_with("error[lod]: fed `x`: "));
}

#[test]
fn fed_variable_that_no_operator_reads_is_accepted() {
    let p = program("x y a", "a = double(X: x)");
    assert_eq!(
        run(&executor(), &p, &[("x", &vector(&[1.0])), ("y", &vector(&[5.0]))], &["a", "y"], &Scope::new()),
        [2.0, 5.0]
    );
}

#[test]
fn unknown_operator_is_named_with_the_nearest() {
    let p = program("x a", "a = doubel(X: x)");
    assert_eq!(
        error(&executor(), &p, &[("x", &vector(&[1.0]))], &["a"], &Scope::new()),
        "error[unknown]: there is no operator `doubel`\n  at (`doubel`, block 0, op 0)\n  help: did you mean `double`?"
    );
}

#[test]
fn session_fills_inputs_and_takes_outputs_in_place() {
    let (exe, scope) = (executor(), scope(1.0));
    let p = program("x a *w b", "a = double(X: x)\n b = add(X: a, Y: w)");
    let mut session = exe.session(&p, &["x"], &["b", "w"], &scope).unwrap();
    let names = |names: Vec<&oarlock_ir::Name>| names.into_iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        (names(session.inputs().collect()), names(session.outputs().collect())),
        (vec!["x".into()], vec!["b".into(), "w".into()])
    );
    for i in 0..3u8 {
        session.input_mut(0).copy_from(&vector(&[f32::from(i)]));
        session.run().unwrap();
        assert_eq!(session.output(0).dense().unwrap().data::<f32>().unwrap(), [2.0 * f32::from(i) + 1.0]);
    }
    assert_eq!(value(&scope, "w"), 1.0, "what the scope holds is copied, not taken");
    let mut other = session.try_clone().unwrap();
    other.input_mut(0).copy_from(&vector(&[10.0]));
    other.run().unwrap();
    assert_eq!(other.output(0).dense().unwrap().data::<f32>().unwrap(), [21.0]);
}
