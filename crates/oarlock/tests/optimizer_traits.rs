//! What optimizers say of themselves, against what they do.

use std::collections::BTreeMap;

use oarlock::ir::{Op, Program, Registry, Sig, Var, VarKind, VarType};
use oarlock::prelude::*;
use oarlock::tensor::{SelectedRows, Value};
use oarlock::{ExecOptions, JobOptions, JobRuntime, registry};

const ROWS: usize = 6;
const WIDTH: usize = 2;
const LISTED: [i64; 2] = [1, 4];

/// Inputs that are one number, whatever the size of the parameter.
const NUMBERS: [&str; 5] = ["LearningRate", "Beta1Pow", "Beta2Pow", "current_step", "nranks"];

fn executor() -> Executor {
    let registry = std::sync::Arc::new(registry());
    let options = ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false };
    Executor::new(options, std::sync::Arc::new(JobRuntime::new(1, JobOptions::default())))
}

/// Every operator that updates a parameter from a gradient, each with the attributes that change which rows it updates.
fn optimizers(registry: &Registry) -> Vec<(Sig, Vec<(&'static str, bool)>)> {
    let mut found = Vec::new();
    for op_type in registry.types() {
        let sig = registry.get(op_type).expect("it is listed").sig.clone();
        let takes = |slot: &str| sig.inputs.iter().any(|s| s.name == slot && !s.many);
        if !takes("Param") || !takes("Grad") || !sig.outputs.iter().any(|s| s.name == "ParamOut") {
            continue;
        }
        if sig.attrs.iter().any(|a| a.name == "lazy_mode") {
            found.push((sig.clone(), vec![("lazy_mode", true)]));
        }
        found.push((sig, Vec::new()));
    }
    found
}

/// Updates rows of a parameter once. Returns every output that is as large as these rows; `None` if the operator cannot do it.
fn update(
    sig: &Sig,
    attrs: &[(&str, bool)],
    mut grad: Value,
    rows: std::ops::Range<usize>,
) -> Option<BTreeMap<String, Tensor>> {
    let (mut program, scope) = (Program::new(), Scope::new());
    let tensor = |seed: f32| {
        let value = |i: usize| seed + 0.25 * i as f32;
        Tensor::from_slice([rows.len(), WIDTH], &(rows.start * WIDTH..rows.end * WIDTH).map(value).collect::<Vec<_>>())
            .unwrap()
    };
    let mut op = Op::new(sig.op_type);
    let is_state = |name: &str| sig.outputs.iter().any(|o| o.name.strip_suffix("Out") == Some(name));
    for (i, slot) in sig.inputs.iter().filter(|s| !s.optional || is_state(s.name)).enumerate() {
        let value = match slot.name {
            "Grad" => std::mem::take(&mut grad),
            name if NUMBERS.contains(&name) => Value::Dense(Tensor::from_slice([1], &[0.5f32]).unwrap()),
            _ => Value::Dense(tensor(1.0 + i as f32)),
        };
        let kind = if matches!(value, Value::Rows(_)) { VarKind::SelectedRows } else { VarKind::Tensor };
        let mut var = Var::new(slot.name, VarType::tensor(DType::F32, vec![]).with_kind(kind));
        var.persistable = true;
        program.global_mut().set_var(var);
        scope.set(slot.name, value);
        op.inputs.set(slot.name, vec![slot.name.into()]);
    }
    for slot in sig.outputs.iter().filter(|s| !s.optional) {
        // `MomentOut` is `Moment`, updated; accumulators are shortened.
        let input =
            sig.inputs.iter().find(|i| slot.name.strip_suffix("Out").is_some_and(|name| i.name.starts_with(name)));
        op.outputs.set(slot.name, vec![input?.name.into()]);
    }
    for attr in sig.attrs.iter().filter(|a| a.default.is_none()) {
        op.attrs.set(attr.name, 0.9f32);
    }
    for (name, value) in attrs {
        op.attrs.set(*name, *value);
    }
    program.global_mut().ops.push(op);
    let before: Vec<String> = scope.names().iter().map(ToString::to_string).collect();
    executor().run(&program, &[], &[], &scope).ok()?;
    let tensors = before.into_iter().filter_map(|name| Some((name.clone(), scope.tensor(&name)?)));
    Some(tensors.filter(|(name, t)| name != "Grad" && t.rows() == rows.len()).collect())
}

fn row(t: &Tensor, at: usize) -> &[u8] {
    &t.bytes()[at * WIDTH * 4..][..WIDTH * 4]
}

fn listed() -> Value {
    let value = Tensor::from_slice([LISTED.len(), WIDTH], &[0.5f32, -1.0, 2.0, 0.25]).unwrap();
    Value::Rows(SelectedRows { rows: LISTED.to_vec(), height: ROWS as i64, value })
}

#[test]
fn optimizer_changes_only_listed_rows_exactly_if_it_says_so() {
    let registry = registry();
    let (mut said, mut take_rows) = (Vec::new(), Vec::new());
    for (sig, attrs) in optimizers(&registry) {
        let mut op = Op::new(sig.op_type);
        attrs.iter().for_each(|(name, value)| op.attrs.set(*name, *value));
        let says = registry.traits(sig.op_type).updates_listed_rows_only(&op);
        let Some(after) = update(&sig, &attrs, listed(), 0..ROWS) else {
            assert!(!says, "`{}` takes no row-sparse gradient", sig.op_type);
            continue;
        };
        take_rows.push(sig.op_type);
        // Without any listed row, nothing changes: that is the state before.
        let none = Value::Rows(SelectedRows {
            rows: Vec::new(),
            height: ROWS as i64,
            value: Tensor::from_slice([0, WIDTH], &[0f32; 0]).unwrap(),
        });
        let before = update(&sig, &attrs, none, 0..ROWS).expect("no rows at all");
        let others = |(name, t): (&String, &Tensor)| {
            (0..ROWS).filter(|r| !LISTED.contains(&(*r as i64))).all(|r| row(t, r) == row(&before[name], r))
        };
        assert_eq!(after.iter().all(others), says, "`{}` {attrs:?}", sig.op_type);
        assert!(after.iter().any(|(name, t)| row(t, 1) != row(&before[name], 1)), "`{}` updates nothing", sig.op_type);
        if says {
            said.push(sig.op_type);
        }
    }
    assert_eq!(take_rows, ["adagrad", "adam", "adam", "ftrl", "lamb", "momentum", "rmsprop", "sgd"]);
    assert_eq!(said, ["adagrad", "adam", "ftrl", "sgd"]);
}

#[test]
fn optimizer_of_a_partitioned_parameter_gives_the_same_bits_unless_it_needs_the_whole_tensor() {
    let registry = registry();
    let mut whole = Vec::new();
    for (sig, attrs) in optimizers(&registry) {
        let grad = |rows: std::ops::Range<usize>| {
            let values: Vec<f32> = (rows.start * WIDTH..rows.end * WIDTH).map(|i| 0.125 * i as f32 - 0.5).collect();
            Value::Dense(Tensor::from_slice([rows.len(), WIDTH], &values).unwrap())
        };
        if registry.traits(sig.op_type).whole_tensor {
            whole.push(sig.op_type);
            continue;
        }
        let parts = [0..ROWS, 0..2, 2..ROWS].map(|rows| update(&sig, &attrs, grad(rows.clone()), rows));
        let [Some(all), Some(first), Some(second)] = parts else { panic!("`{}` does not run", sig.op_type) };
        for (name, t) in &all {
            let joined = [first[name].bytes(), second[name].bytes()].concat();
            assert_eq!(t.bytes(), joined, "`{name}` of `{}`", sig.op_type);
        }
    }
    assert_eq!(whole, ["dgc_momentum", "dpsgd", "lamb", "lars_momentum"]);
}
