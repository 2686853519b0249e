//! Plans are made once and kept; temporaries share slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{FuseBlock, Fusion, OpDef, Program, Registry, Result};

use crate::{operators, options, program, run, vector};

/// A fusion that does nothing but count the compilations.
struct CountPlans(AtomicUsize);

impl Fusion for CountPlans {
    fn name(&self) -> &'static str {
        "count_plans"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[]
    }

    fn apply(&self, _: &mut FuseBlock<'_>) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// An executor, and the number of plans it made.
fn counting() -> (Executor, &'static AtomicUsize) {
    let fusion: &'static CountPlans = Box::leak(Box::new(CountPlans(AtomicUsize::new(0))));
    let registry = Arc::new(Registry::new(operators::all(), [fusion as &dyn Fusion]));
    (Executor::new(ExecOptions { registry, ..options() }), &fusion.0)
}

fn chain() -> Program {
    program("x a b", "a = double(X: x)\n b = double(X: a)")
}

#[test]
fn plan_is_made_once_for_a_program_its_feeds_and_its_fetches() {
    let ((exe, made), scope, x) = (counting(), Scope::new(), vector(&[1.0]));
    let mut p = chain();
    for _ in 0..3 {
        assert_eq!(run(&exe, &p, &[("x", &x)], &["b"], &scope), [4.0]);
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
    run(&exe, &p, &[("x", &x)], &["a"], &scope);
    run(&exe, &p, &[("x", &x)], &["b"], &scope);
    assert_eq!(made.load(Ordering::Relaxed), 2, "both plans are kept");
    p.global_mut().ops.pop();
    p.touch();
    run(&exe, &p, &[("x", &x)], &["a"], &scope);
    assert_eq!(made.load(Ordering::Relaxed), 3, "a changed program is planned again");
    run(&exe, &p.clone(), &[("x", &x)], &["a"], &scope);
    assert_eq!(made.load(Ordering::Relaxed), 4, "a copy is another program");
}

#[test]
fn plan_unused_for_longest_is_dropped_when_too_many_are_kept() {
    let ((exe, made), scope, x) = (counting(), Scope::new(), vector(&[1.0]));
    let programs: Vec<Program> = (0..65).map(|_| chain()).collect();
    for p in &programs {
        run(&exe, p, &[("x", &x)], &["b"], &scope);
    }
    run(&exe, &programs[64], &[("x", &x)], &["b"], &scope);
    assert_eq!(made.load(Ordering::Relaxed), 65);
    run(&exe, &programs[0], &[("x", &x)], &["b"], &scope);
    assert_eq!(made.load(Ordering::Relaxed), 66);
}

#[test]
fn memory_report_counts_temporaries_and_goes_when_they_are_dropped() {
    let (exe, scope, p) = (Executor::new(options()), Scope::new(), chain());
    assert_eq!(exe.memory(&p), None);
    run(&exe, &p, &[("x", &vector(&[0.0; 1000]))], &["b"], &scope);
    assert!(exe.memory(&p).unwrap().peak_bytes >= 8000);
    exe.drop_temporaries(&p);
    assert_eq!(exe.memory(&p), None);
}

#[test]
fn fusion_left_out_by_name_is_not_applied() {
    let (exe, made) = counting();
    let options = ExecOptions { without_fusions: vec!["count_plans".into()], ..exe.options().clone() };
    run(&Executor::new(options.clone()), &chain(), &[("x", &vector(&[1.0]))], &["b"], &Scope::new());
    let options = ExecOptions { without_fusions: Vec::new(), check_nan_inf: true, ..options };
    run(&Executor::new(options), &chain(), &[("x", &vector(&[1.0]))], &["b"], &Scope::new());
    assert_eq!(made.load(Ordering::Relaxed), 0, "the nan check names single operators, so nothing is fused");
}

/// A fusion that breaks the program: it drops a variable.
struct DropVar;

impl Fusion for DropVar {
    fn name(&self) -> &'static str {
        "drop_var"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        g.block.vars.shift_remove("a");
        Ok(())
    }
}

#[test]
fn fusion_that_breaks_a_program_is_named() {
    let registry = Arc::new(Registry::new(operators::all(), [&DropVar as &dyn Fusion]).verifying());
    let exe = Executor::new(ExecOptions { registry, ..options() });
    let e = exe.planned_program(&chain(), &["x"], &["b"]).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[verify]: pass `drop_var` broke the program: variable `a` is declared neither in block 0 nor around it\n  \
         at (`double`, block 0, op 0)\n  \
         help: this is a mistake of the pass, not of the network; please report it with this text"
    );
}
