//! The profiler counts every call.

use oarlock_exec::Scope;

use crate::{executor, program, run, vector};

#[test]
fn profile_counts_the_calls_of_each_operator_type() {
    let (exe, x) = (executor(), vector(&[1.0]));
    let p = program("x a b c", "a = double(X: x)\n b = double(X: a)\n c = total(X: b)");
    run(&exe, &p, &[("x", &x)], &["c"], &Scope::new());
    exe.start_profile();
    for _ in 0..3 {
        run(&exe, &p, &[("x", &x)], &["c"], &Scope::new());
    }
    let profile = exe.stop_profile().unwrap();
    let mut calls: Vec<(String, usize)> = profile.by_type().iter().map(|t| (t.op_type.to_string(), t.calls)).collect();
    calls.sort();
    assert_eq!(calls, [("double".to_string(), 6), ("total".to_string(), 3)]);
    let trace = profile.chrome_trace();
    assert_eq!(trace.matches("\"name\":\"double\"").count(), 6);
    assert_eq!(trace.matches("\"out\":\"c\"").count(), 3);
    assert!(exe.stop_profile().is_none(), "it was stopped");
}

#[test]
fn shared_profile_records_the_work_of_other_executors() {
    let exe = executor();
    exe.start_profile();
    exe.with_shared_profile(|| {
        let other = oarlock_exec::Executor::with_runtime(exe.options().clone(), exe.runtime().clone());
        run(&other, &program("a", "a = fill()"), &[], &["a"], &Scope::new());
    });
    let profile = exe.stop_profile().unwrap();
    assert_eq!(profile.by_type().iter().map(|t| t.calls).sum::<usize>(), 1);
}
