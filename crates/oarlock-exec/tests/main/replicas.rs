//! Replicas on threads: who runs what, and what is summed.

use oarlock_exec::replicas::{Feeds, LossScale, Replicas, joined};
use oarlock_exec::{Executor, Scope};
use oarlock_ir::Program;
use oarlock_tensor::{Tensor, Value};

use crate::{executor, program, scope, value, vector};

/// The gradient of `w` is the sum of the samples times the loss's gradient `d`, which stands for 1.
const TRAIN: &str = r#"
    d = fill() {value: 1.0, op_role: 257}
    own = double(X: x) {op_role: 0}
    g = total(X: x) {op_role: 1, op_role_var: ["w", "g"]}
    r = double(X: rate) {op_role: 16}
    ParamOut: w = subtract(Param: w, Grad: g) {op_role: 2}
"#;

fn train() -> Program {
    program("x d own g r *rate *w", TRAIN)
}

fn start(w: f32) -> Scope {
    let scope = scope(w);
    scope.set("rate", vector(&[0.5]));
    scope
}

fn run(exe: &Executor, p: &Program, how: &Replicas, x: &Tensor, fetches: &[&str], scope: &Scope) -> Vec<Vec<Vec<f32>>> {
    let fetched = exe.run_replicas(p, how, Feeds::Split(&[("x", x)]), fetches, scope).unwrap();
    let numbers = |v: &Value| v.dense().unwrap().data::<f32>().unwrap().to_vec();
    fetched.iter().map(|values| values.iter().map(numbers).collect()).collect()
}

#[test]
fn gradients_of_all_replicas_are_summed_and_the_update_runs_once() {
    let (exe, scope, x) = (executor(), start(100.0), vector(&[1.0, 2.0, 3.0, 4.0, 5.0]));
    let fetched = run(&exe, &train(), &Replicas::new(2), &x, &["own", "g", "w", "d"], &scope);
    assert_eq!(fetched[0], [vec![2.0, 4.0, 6.0], vec![8.0, 10.0]], "each replica has its own samples");
    assert_eq!(fetched[1], [[15.0], [15.0]], "the sum comes once for each");
    assert_eq!(fetched[2], [[85.0], [85.0]]);
    assert_eq!(fetched[3], [[0.5], [0.5]], "the loss of each counts by half");
    assert_eq!(value(&scope, "w"), 85.0);
}

#[test]
fn operators_are_sorted_into_those_of_replicas_and_those_that_run_once() {
    let p = executor().replicated_program(&train(), &Replicas::new(2), &["x"], &[]).unwrap();
    let ops: Vec<&str> = p.global().ops.iter().map(|op| op.outputs.args().next().unwrap().as_str()).collect();
    assert_eq!(ops, ["d", "own", "g", "r", "w"]);
}

#[test]
fn loss_scale_says_how_the_loss_of_a_replica_counts() {
    let scale = |scale: LossScale| {
        let how = Replicas { scale, ..Replicas::new(2) };
        let p = executor().replicated_program(&train(), &how, &["x"], &[]).unwrap();
        p.global().ops.iter().find(|op| op.op_type == "fill").map(|op| op.attrs.get("value").unwrap().to_string())
    };
    assert_eq!(scale(LossScale::Mean).as_deref(), Some("0.5"));
    assert_eq!(scale(LossScale::Sum).as_deref(), Some("1.0"));
    assert_eq!(scale(LossScale::Fed), None);
}

#[test]
fn result_does_not_depend_on_the_number_of_runs_or_threads() {
    let x = vector(&[1e8, 1.0, -1e8, 1.0]);
    let learned = |_| {
        let (exe, scope) = (executor(), start(0.0));
        run(&exe, &train(), &Replicas::new(4), &x, &[], &scope);
        value(&scope, "w")
    };
    assert_eq!((0..20).map(learned).collect::<Vec<_>>(), vec![-1.0; 20], "summed in the order of replicas");
}

#[test]
fn replicas_sum_numbers_while_they_run() {
    let p = program("x all", "all = total_of_all(X: x)");
    let fetched = run(&executor(), &p, &Replicas::new(3), &vector(&[1.0, 2.0, 3.0]), &["all"], &Scope::new());
    assert_eq!(fetched[0], [[6.0], [6.0], [6.0]]);
}

#[test]
fn batch_with_fewer_samples_than_replicas_trains_nothing() {
    let (exe, scope, x) = (executor(), start(1.0), vector(&[1.0]));
    let e = exe.run_replicas(&train(), &Replicas::new(2), Feeds::Split(&[("x", &x)]), &[], &scope).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[argument]: the batch has 1 sample of `x`, but 2 replicas share it\n  \
         help: feed at least 2 samples (drop a last batch that is too small), or use fewer replicas: `places`, or the \
         environment variable CPU_NUM"
    );
    assert_eq!(value(&scope, "w"), 1.0);
    let p = program("x a", "a = double(X: x)");
    assert_eq!(run(&exe, &p, &Replicas::new(2), &x, &["a"], &scope)[0], [[2.0]], "a test program takes it");
}

#[test]
fn failure_of_one_replica_is_named_and_undoes_the_step() {
    let (exe, scope) = (executor(), start(1.0));
    let p = program(
        "x d own g r all *rate *w",
        &format!(
            "w = add(X: w, Y: rate) {{op_role: 2}}\n fail(X: x) {{limit: 2.0, op_role: 0}}\n all = total_of_all(X: x) {{op_role: 0}}\n{TRAIN}"
        ),
    );
    let e =
        exe.run_replicas(&p, &Replicas::new(2), Feeds::Split(&[("x", &vector(&[1.0, 3.0]))]), &[], &scope).unwrap_err();
    let text = e.to_string();
    assert!(text.starts_with("error[argument]: `fail` got 3\n") && text.ends_with("\n  in replica 1 of 2"), "{text}");
    assert_eq!(value(&scope, "w"), 1.0);
    assert!(scope.find("w").unwrap().try_write().is_some());
}

#[test]
fn update_inside_a_branch_that_replicas_run_is_unsupported() {
    let p = crate::text(
        "block 0 {
            var x: f32[?]
            var w: f32[1] persistable
            repeat() {sub_block: block 1, op_role: 0}
        }
        block 1 in 0 {
            w = subtract(Param: w, Grad: x) {op_role: 2}
        }",
    );
    let e = executor().replicated_program(&p, &Replicas::new(2), &["x"], &[]).unwrap_err();
    assert!(
        e.to_string().starts_with("error[unsupported]: `repeat` updates parameters where only some replicas may come"),
        "{e}"
    );
}

#[test]
fn values_of_replicas_are_joined_in_order() {
    let parts = vec![Value::Dense(vector(&[1.0, 2.0])), Value::Dense(vector(&[3.0]))];
    assert_eq!(joined("a", parts).unwrap().dense().unwrap().data::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    let parts = vec![Value::Dense(vector(&[1.0])), Value::Empty];
    assert!(
        joined("a", parts).unwrap_err().to_string().starts_with("error[argument]: fetched `a` cannot be put together")
    );
}
