//! The work of an executor around a run: hosts, work before a run, warnings.

use std::sync::Arc;

use oarlock_ir::{Name, Vars};
use parking_lot::Mutex;

use crate::{executor, program, run, scope, value, vector};

#[test]
fn startup_program_that_overwrites_loaded_variables_warns_once() {
    let (exe, scope, told) = (executor(), scope(1.0), Arc::new(Mutex::new(Vec::new())));
    let sink = told.clone();
    exe.on_warning(move |text| sink.lock().push(text.to_string()));
    let startup = program("*w *v", "w = fill() {value: 3.0}\n v = fill()");
    scope.loaded(&[Name::from("w")]);
    run(&exe, &startup, &[], &[], &scope);
    run(&exe, &startup, &[], &[], &scope);
    assert_eq!(
        *told.lock(),
        ["the program initialised variables that had been loaded, and what was loaded is lost: `w`. \
          Run the startup program first and load afterwards"]
    );
}

#[test]
fn variable_that_a_parent_scope_holds_is_used_there() {
    let outer = scope(1.0);
    let inner = outer.child();
    let p = program("x *w *v", "w = add(X: w, Y: x)\n v = fill() {value: 4.0}");
    run(&executor(), &p, &[("x", &vector(&[1.0]))], &[], &inner);
    assert_eq!((value(&outer, "w"), outer.tensor("v")), (2.0, None));
    assert_eq!(value(&inner, "v"), 4.0);
}
