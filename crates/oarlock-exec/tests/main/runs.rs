//! What an executor does around a run: hosts, work before a run, warnings.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock_exec::{BeforeRun, BeforeRuns, Executor, Hosts, ProgramHost, Scope};
use oarlock_ir::{Name, Program, Result, Vars};
use parking_lot::Mutex;

use crate::{executor, program, run, scope, value, vector};

/// Runs programs that consist of `stop`.
struct StopHost;

impl ProgramHost for StopHost {
    fn hosts(&self, program: &Program) -> bool {
        program.global().ops[0].op_type == "stop"
    }

    fn run(&self, _: &Executor, _: &Program, scope: &Scope) -> Result<()> {
        scope.set("w", vector(&[7.0]));
        Ok(())
    }
}

#[test]
fn host_runs_programs_of_its_kind_as_a_whole() {
    let (exe, scope) = (executor(), scope(1.0));
    exe.runtime().provide(Arc::new(Hosts(vec![Box::new(StopHost)])));
    run(&exe, &program("", "stop()"), &[], &[], &scope);
    assert_eq!(value(&scope, "w"), 7.0);
    assert!(!exe.runtime().stopping());
    assert_eq!(run(&exe, &program("a *w", "a = double(X: w)"), &[], &["a"], &scope), [14.0]);
}

struct CountRuns(Arc<AtomicUsize>);

impl BeforeRun for CountRuns {
    fn before(&self, _: &Executor, _: &Program, scope: &Scope) -> Result<()> {
        assert!(scope.find("w").unwrap().try_write().is_some(), "no variable is locked");
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn work_before_a_run_is_done_once_per_run() {
    let (exe, scope, count) = (executor(), scope(1.0), Arc::new(AtomicUsize::new(0)));
    exe.runtime().provide(Arc::new(BeforeRuns(Box::new(CountRuns(count.clone())))));
    let p = program("a *w", "a = double(X: w)");
    run(&exe, &p, &[], &["a"], &scope);
    run(&exe, &p, &[], &["a"], &scope);
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

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
