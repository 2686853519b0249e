//! How Hogwild threads share the variables of a scope. Most tests run the threads in turn: only who reads what matters.

use oarlock_exec::{HogwildThread, Scope};
use oarlock_ir::Program;
use oarlock_tensor::Value;

use crate::{executor, program, scope, value, vector};

fn threads(program: &Program, fetches: &[&str], scope: &Scope, count: usize) -> Vec<HogwildThread> {
    executor().hogwild_threads(program, &["x"], fetches, scope, count).unwrap()
}

/// Runs one step and returns the first element of the first fetch.
fn step(thread: &mut HogwildThread, x: f32) -> f32 {
    let mut fetched: Vec<Value> = Vec::new();
    thread.run(&[("x", &vector(&[x]))], Some(&mut fetched)).unwrap();
    fetched[0].dense().unwrap().data::<f32>().unwrap()[0]
}

#[test]
fn parameter_is_updated_in_the_scope_and_read_from_a_copy_that_the_own_update_refreshes() {
    let scope = scope(10.0);
    let p = program("x *w y", "y = double(X: w)\n ParamOut: w = subtract(Param: w, Grad: x)");
    let mut both = threads(&p, &["y"], &scope, 2);
    assert_eq!(step(&mut both[0], 1.0), 20.0);
    assert_eq!((step(&mut both[1], 1.0), value(&scope, "w")), (20.0, 8.0), "the second has not seen 9");
    assert_eq!((step(&mut both[0], 1.0), value(&scope, "w")), (18.0, 7.0), "its own update left 9");
    assert_eq!((step(&mut both[1], 1.0), value(&scope, "w")), (16.0, 6.0), "its own update left 8");
}

#[test]
fn variable_that_only_its_own_operator_touches_is_updated_in_place_and_exact() {
    let scope = scope(0.0);
    let p = program("x *w", "w = add(X: w, Y: x)");
    std::thread::scope(|s| {
        for mut thread in threads(&p, &[], &scope, 4) {
            s.spawn(move || (0..250).for_each(|_| thread.run(&[("x", &vector(&[1.0]))], None).unwrap()));
        }
    });
    assert_eq!(value(&scope, "w"), 1000.0);
}

#[test]
fn fetch_of_a_variable_updated_in_place_reads_the_scope() {
    let scope = scope(0.0);
    let mut both = threads(&program("x *w", "w = add(X: w, Y: x)"), &["w"], &scope, 2);
    assert_eq!((step(&mut both[0], 1.0), step(&mut both[1], 2.0)), (1.0, 3.0));
}

#[test]
fn variable_that_is_only_written_is_replaced_after_its_operator() {
    let scope = scope(1.0);
    let p = program("x *w y", "w = double(X: x)\n y = double(X: w)");
    let mut both = threads(&p, &["y"], &scope, 2);
    assert_eq!((step(&mut both[0], 1.0), value(&scope, "w")), (4.0, 2.0));
    assert_eq!((step(&mut both[1], 5.0), value(&scope, "w")), (20.0, 10.0));
}

#[test]
fn variable_that_nothing_writes_is_read_where_it_is() {
    let scope = scope(1.0);
    let mut both = threads(&program("x *w y", "y = add(X: x, Y: w)"), &["y"], &scope, 2);
    assert_eq!(step(&mut both[0], 1.0), 2.0);
    scope.set("w", vector(&[10.0]));
    assert_eq!((step(&mut both[0], 1.0), step(&mut both[1], 1.0)), (11.0, 11.0));
}

#[test]
fn failed_step_of_several_threads_releases_every_variable_and_is_not_undone() {
    let scope = scope(1.0);
    let p = program("x *w", "w = add(X: w, Y: x)\n fail(X: x)");
    let mut both = threads(&p, &[], &scope, 2);
    assert!(both[0].run(&[("x", &vector(&[1.0]))], None).is_err());
    assert!(scope.find("w").unwrap().try_write().is_some(), "the lock is released");
    assert_eq!(value(&scope, "w"), 2.0);
    both[1].run(&[("x", &vector(&[-1.0]))], None).unwrap();
    assert_eq!(value(&scope, "w"), 1.0);
}

#[test]
fn single_thread_undoes_a_failed_step() {
    let scope = scope(1.0);
    let mut one = threads(&program("x *w", "w = add(X: w, Y: x)\n fail(X: x)"), &[], &scope, 1);
    assert!(one[0].run(&[("x", &vector(&[1.0]))], None).is_err());
    assert_eq!(value(&scope, "w"), 1.0);
}

#[test]
fn parameter_without_value_is_named_before_any_thread_runs() {
    let p = program("x *w y", "y = add(X: x, Y: w)");
    let made = executor().hogwild_threads(&p, &["x"], &[], &Scope::new(), 2);
    assert_eq!(
        made.err().unwrap().to_string(),
        "error[missing]: `add` needs `w`, but it has no value in this scope\n  at (`add`, block 0, op 0)\n  \
         help: run the startup program in this scope first, or load a saved model"
    );
}
