//! Every operator against golden vectors: outputs, LoD, rows and gradients.
//!
//! `OARLOCK_GOLDEN` names the full set; without it the subset kept here is used, which covers every operator. Operators of object
//! detection have a set of their own, which `tools/golden_detection.py` records.
//! `OARLOCK_OPS=relu,adam` runs some operators only.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use oarlock_exec::eager::{BackwardOptions, EagerEngine, EagerTensor, LeafGradient, Target};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{
    Attr, EMPTY, Entry, Grad, Name, Op, Program, Registry, Runtime, Shape, Var, VarKind, VarType, append_op, grad_name,
};
use oarlock_tensor::{DType, Lod, SelectedRows, Tensor, TensorArray, Value};
use oarlock_testkit::{Json, Npz, Tolerance, close, golden_dir, json};

/// Forward and gradient tolerance of an operator.
fn tolerances(op: &str) -> (Tolerance, Tolerance) {
    // Sums of many products, and normalisation, round differently; the golden README says how far.
    const LOOSE: [&str; 5] = ["crf", "ctc", "lstm", "gru", "norm"];
    let loose = op.contains("conv") || LOOSE.iter().any(|w| op.contains(w));
    let grad = if loose { Tolerance::new(1e-3, 1e-4) } else { Tolerance::new(1e-4, 1e-5) };
    (Tolerance::new(1e-5, 1e-6), grad)
}

/// Outputs whose shape says that there is nothing, which no inference foresees.
const NOTHING: [(&str, &[usize]); 2] = [("multiclass_nms", &[1, 1]), ("locality_aware_nms", &[1, 1])];

/// Cases in which Fluid reads beyond its memory, so that what it gave means nothing.
const MEANINGLESS: [(&str, &str); 1] = [
    // A negative `start_index` is not brought into range: the first row begins before the tensor.
    ("partial_sum", "case2"),
];

struct Golden {
    cases: Json,
    arrays: Box<dyn Fn(&str) -> Npz>,
}

fn golden() -> [Golden; 3] {
    [operators(), kept("detection"), kept("rest")]
}

fn read(p: PathBuf) -> Json {
    let text = std::fs::read_to_string(&p).unwrap_or_else(|e| panic!("{}: {e}", p.display()));
    // Python writes infinity as a bare word; as text it still parses as a float.
    json::from_str(&text.replace("Infinity", "\"inf\"").replace("-\"inf\"", "\"-inf\"")).expect("JSON")
}

/// A set that is kept here.
fn kept(set: &str) -> Golden {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set);
    let cases = read(dir.join("cases.json"));
    Golden { cases, arrays: Box::new(move |op| Npz::read(dir.join("cases.npz")).only(&format!("{op}/"))) }
}

fn operators() -> Golden {
    match golden_dir() {
        Some(dir) => {
            let ops = dir.join("ops");
            Golden {
                cases: read(ops.join("cases.json")),
                arrays: Box::new(move |op| Npz::read(ops.join(format!("{op}.npz")))),
            }
        }
        None => kept("ops"),
    }
}

#[expect(clippy::disallowed_methods, reason = "a filter for work on some operators")]
fn wanted() -> Option<Vec<String>> {
    Some(std::env::var("OARLOCK_OPS").ok()?.split(',').map(str::to_string).collect())
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is the point")]
fn every_golden_case() {
    let goldens = golden();
    let registry = Arc::new(Registry::new(oarlock_ops::ops(), oarlock_ops::fusions()));
    let wanted = wanted();
    let (mut passed, mut failures, mut unknown) = (0, Vec::new(), Vec::new());
    let mut table = BTreeMap::new();
    let sets = goldens.iter().map(|golden| (golden, golden.cases.as_object().expect("an object")));
    for (golden, op, cases) in sets.flat_map(|(golden, set)| set.iter().map(move |(op, cases)| (golden, op, cases))) {
        if wanted.as_ref().is_some_and(|w| !w.contains(op)) {
            continue;
        }
        let cases = cases.as_object().expect("an object");
        let Some(entry) = registry.get(op) else {
            unknown.push(op.clone());
            continue;
        };
        let arrays = (golden.arrays)(op);
        let (mut good, mut all) = (0, 0);
        for (name, case) in cases.iter().filter(|(name, _)| !MEANINGLESS.contains(&(op.as_str(), name.as_str()))) {
            all += 1;
            let run = || {
                let case = Case { op, name, case, arrays: &arrays, entry, registry: &registry };
                case.run().and_then(|()| case.run_eagerly().map_err(|e| format!("eagerly: {e}")))
            };
            match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("panicked".into())) {
                Ok(()) => good += 1,
                Err(e) => failures.push(format!("{op} {name}: {e}")),
            }
        }
        passed += good;
        table.insert(op, (good, all));
    }
    for (op, (good, all)) in &table {
        println!("{op:<40} {good:>4} of {all:>4}");
    }
    println!(
        "{passed} golden cases of {} operators pass; {} operators not defined: {}",
        table.len(),
        unknown.len(),
        unknown.join(" ")
    );
    for f in &failures {
        println!("FAILED {f}");
    }
    assert!(failures.is_empty(), "{} golden cases fail", failures.len());
}

/// Compares tensors by slot with what Fluid gave.
fn check_all<'t>(
    expected: &[(String, Vec<Option<Value>>)],
    found: impl Fn(&str) -> &'t [Option<EagerTensor>],
    tol: Tolerance,
) -> Outcome<()> {
    for (slot, values) in expected {
        for (i, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let Some(Some(tensor)) = found(slot).get(i) else { return Err(format!("`{slot}` {i} is missing")) };
            let compared = tensor.with_value(|v| compare(v, value, tol)).map_err(|e| e.to_string())?;
            compared.map_err(|e| format!("`{slot}` {i} {e}"))?;
        }
    }
    Ok(())
}

/// One case of one operator.
struct Case<'a> {
    op: &'a str,
    name: &'a str,
    case: &'a Json,
    arrays: &'a Npz,
    entry: &'a Entry,
    registry: &'a Arc<Registry>,
}

type Outcome<T> = Result<T, String>;

impl Case<'_> {
    fn run(&self) -> Outcome<()> {
        let mut program = Program::new();
        let mut op = Op::new(self.op);
        let scope = Scope::new();
        for (slot, values) in self.values("in") {
            let mut names = Vec::new();
            for (i, value) in values.into_iter().enumerate() {
                let name: Name = format!("{slot}.{i}").into();
                let Some(value) = value else {
                    names.push(EMPTY.into());
                    continue;
                };
                let mut var = Var::new(name.clone(), type_of(&value));
                var.persistable = true;
                program.global_mut().set_var(var);
                scope.set(&name, value);
                names.push(name);
            }
            op.inputs.set(slot.as_str(), names);
        }
        self.set_attrs(&mut op)?;
        let expected = self.values("out");
        for (slot, values) in &expected {
            let in_place = self.case["inplace"][slot].as_str();
            let names: Vec<Name> = match in_place {
                Some(input) => op.inputs.get(input).to_vec(),
                None => (0..values.len()).map(|i| format!("{slot}.out{i}").into()).collect(),
            };
            op.outputs.set(slot.as_str(), names);
        }
        self.add_missing_outputs(&mut op);
        declare(&mut program, &op);
        append_op(&mut program, 0, op.clone(), self.registry).map_err(|e| e.to_string())?;
        let mut checks: Vec<(Name, Value, Tolerance)> = Vec::new();
        let (forward, backward) = tolerances(self.op);
        for (slot, values) in expected {
            for (name, value) in op.outputs.get(&slot).to_vec().into_iter().zip(values) {
                checks.extend(value.map(|v| (name, v, forward)));
            }
        }
        let feeds = self.append_grad(&mut program, &op, &scope)?;
        for (slot, values) in self.values("grad") {
            for (name, value) in op.inputs.get(&slot).iter().zip(values) {
                checks.extend(value.map(|v| (grad_name(name), v, backward)));
            }
        }
        self.execute(&program, &scope, &feeds, checks)
    }

    /// The same on eager tensors.
    fn run_eagerly(&self) -> Outcome<()> {
        let engine = EagerEngine::new(self.registry.clone(), Arc::new(Runtime::new(1)));
        let mut op = Op::new(self.op);
        self.set_attrs(&mut op)?;
        let wanted = self.values("grad");
        let mut inputs: Vec<(String, Vec<Option<EagerTensor>>)> = Vec::new();
        for (slot, values) in self.values("in") {
            let grads = wanted.iter().find(|(s, _)| *s == slot).map_or(&[][..], |(_, grads)| grads);
            let tensor = |(i, value): (usize, Option<Value>)| {
                let tensor = engine.tensor(value?);
                tensor.set_stop_gradient(!grads.get(i).is_some_and(Option::is_some));
                Some(tensor)
            };
            inputs.push((slot, values.into_iter().enumerate().map(tensor).collect()));
        }
        let expected = self.values("out");
        let mut call = engine.build(self.op).attrs(op.attrs);
        for (slot, tensors) in &inputs {
            call = call.inputs(slot, tensors.clone());
        }
        for slot in &self.entry.sig.outputs {
            let count = expected.iter().find(|(s, _)| s == slot.name).map(|(_, values)| values.len());
            let in_place = self.case["inplace"][slot.name].as_str();
            let over = in_place.and_then(|input| inputs.iter().find(|(s, _)| s == input));
            let targets: Vec<Target> = match (over, count) {
                (Some((_, over)), _) => over.iter().flatten().cloned().map(Target::Into).collect(),
                (None, Some(n)) => vec![Target::New; n],
                (None, None) => vec![Target::New; usize::from(!slot.many)],
            };
            call = call.outputs(slot.name, targets);
        }
        let results = call.run().map_err(|e| e.to_string())?;
        let (forward, backward) = tolerances(self.op);
        check_all(&expected, |slot| results.all(slot), forward)?;
        if wanted.iter().flat_map(|(_, values)| values).all(Option::is_none) {
            return Ok(());
        }
        let mut roots = Vec::new();
        for (slot, values) in self.values("outgrad") {
            for (tensor, grad) in results.all(&slot).iter().zip(values) {
                roots.extend(tensor.clone().zip(grad).map(|(t, g)| (t, Some(engine.tensor(g)))));
            }
        }
        // A tensor that was overwritten in place has the gradient of its new value until that of the old one takes its place.
        let options = BackwardOptions { leaves: LeafGradient::Overwrite, ..BackwardOptions::default() };
        engine.backward(&roots, options).map_err(|e| e.to_string())?;
        let grads: Vec<(&str, Vec<Option<EagerTensor>>)> = inputs
            .iter()
            .map(|(slot, list)| (slot.as_str(), list.iter().map(|t| t.as_ref().and_then(EagerTensor::grad)).collect()))
            .collect();
        let of = |slot: &str| grads.iter().find(|(s, _)| *s == slot).map_or(&[][..], |(_, list)| list);
        check_all(&wanted, of, backward)
    }

    fn execute(
        &self,
        program: &Program,
        scope: &Scope,
        feeds: &[(Name, Tensor)],
        checks: Vec<(Name, Value, Tolerance)>,
    ) -> Outcome<()> {
        let executor = executor(self.registry);
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let names: Vec<&str> = checks.iter().map(|(n, ..)| n.as_str()).collect();
        let found = executor.run(program, &feeds, &names, scope).map_err(|e| e.to_string())?;
        for (found, (name, expected, tol)) in found.iter().zip(&checks) {
            compare(found, expected, *tol).map_err(|e| format!("`{name}` {e}"))?;
            let ty = program.global().var(name).expect("declared").ty();
            if let Value::Dense(t) = found
                && !NOTHING.iter().any(|(op, dims)| *op == self.op && t.dims()[..] == **dims)
                && (ty.dtype != t.dtype() || !ty.shape.fits(t.dims()))
            {
                return Err(format!("`{name}` was inferred as {ty}, but the run gave {}{}", t.dtype(), t.dims()));
            }
        }
        Ok(())
    }

    /// The values of a section by slot; `None` where Fluid gave none.
    fn values(&self, section: &str) -> Vec<(String, Vec<Option<Value>>)> {
        let Some(slots) = self.case[section].as_object() else { return Vec::new() };
        let one = |slot: &str, i: usize, spec: &Json| {
            (!spec.is_null()).then(|| self.value(&format!("{}/{section}/{slot}/{i}", self.name), spec))
        };
        let list = |slot: &String, specs: &Json| {
            specs.as_array().expect("a list").iter().enumerate().map(|(i, s)| one(slot, i, s)).collect()
        };
        slots.iter().map(|(slot, specs)| (slot.clone(), list(slot, specs))).collect()
    }

    fn value(&self, key: &str, spec: &Json) -> Value {
        match spec["kind"].as_str() {
            Some("selected_rows") => Value::Rows(SelectedRows {
                rows: self.arrays.array(&format!("{key}.rows")).data::<i64>().expect("rows").to_vec(),
                height: spec["height"].as_i64().expect("a height"),
                value: self.arrays.array(&format!("{key}.value")).clone(),
            }),
            Some("array") => {
                let items = spec["items"].as_array().expect("items");
                Value::Array(TensorArray::of(
                    (0..items.len()).map(|k| self.tensor(&format!("{key}.item{k}"))).collect(),
                ))
            }
            _ => Value::Dense(self.tensor(key)),
        }
    }

    fn tensor(&self, key: &str) -> Tensor {
        let mut t = self.arrays.array(key).clone();
        let mut levels = Vec::new();
        while let Some(level) = self.arrays.get(&format!("{key}.lod{}", levels.len())) {
            levels.push(level.data::<i64>().expect("offsets").iter().map(|&v| v as usize).collect());
        }
        t.set_lod(Lod::new(levels));
        t
    }

    fn set_attrs(&self, op: &mut Op) -> Outcome<()> {
        let Some(attrs) = self.case["attrs"].as_object() else { return Ok(()) };
        for (name, value) in attrs {
            let default = self.entry.sig.attrs.iter().find(|a| a.name == name).and_then(|a| a.default.as_ref());
            let attr = attr_of(value, default).ok_or_else(|| format!("attribute `{name}` = {value}"))?;
            op.attrs.set(name.as_str(), attr);
        }
        Ok(())
    }

    /// Outputs that the golden data leaves out (scratch, shape-only) exist all the same.
    fn add_missing_outputs(&self, op: &mut Op) {
        for slot in self.entry.sig.outputs.iter().filter(|s| !s.many && !op.outputs.has(s.name)).collect::<Vec<_>>() {
            op.outputs.set(slot.name, vec![format!("{}.out0", slot.name).into()]);
        }
    }

    /// Appends the gradient operators; returns what is fed for the gradients of outputs.
    fn append_grad(&self, program: &mut Program, op: &Op, scope: &Scope) -> Outcome<Vec<(Name, Tensor)>> {
        let wanted: Vec<Name> = self
            .values("grad")
            .iter()
            .flat_map(|(slot, values)| op.inputs.get(slot).iter().zip(values).filter(|(_, v)| v.is_some()))
            .map(|(n, _)| grad_name(n))
            .collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut feeds = Vec::new();
        for (slot, values) in self.values("outgrad") {
            for (name, value) in op.outputs.get(&slot).iter().zip(values) {
                let Some(Value::Dense(t)) = value else { continue };
                let ty = program.global().var(name).expect("declared").ty();
                program.global_mut().set_var(Var::new(grad_name(name), ty));
                feeds.push((grad_name(name), t));
            }
        }
        let no_grad = |n: &str| !wanted.iter().any(|w| w == n);
        let ops = {
            let mut g = Grad::new(program, op, &no_grad, None);
            self.entry.grad(&mut g).map_err(|e| e.to_string())?;
            g.into_ops()
        };
        for mut grad in ops {
            self.complete(program, &mut grad, op, scope, &mut feeds)?;
            declare(program, &grad);
            append_op(program, 0, grad, self.registry).map_err(|e| e.to_string())?;
        }
        Ok(feeds)
    }

    /// A gradient that was not given is left out where the gradient operator allows it, and zero where it does not.
    fn complete(
        &self,
        program: &mut Program,
        grad: &mut Op,
        forward: &Op,
        scope: &Scope,
        feeds: &mut Vec<(Name, Tensor)>,
    ) -> Outcome<()> {
        let entry = self.registry.entry(&grad.op_type).map_err(|e| e.to_string())?;
        let mut zeros = Vec::new();
        for (slot, args) in grad.inputs.iter_mut() {
            let optional = entry.sig.inputs.iter().any(|s| s.name == &**slot && (s.optional || s.many));
            let missing = |n: &Name| program.global().var(n).is_none();
            if optional {
                args.retain(|n| !missing(n));
            } else {
                zeros.extend(args.iter().filter(|n| missing(n)).cloned());
            }
        }
        for name in zeros {
            let of = name.strip_suffix(oarlock_ir::GRAD).unwrap_or(&name).to_string();
            let mut only_forward = program.clone();
            only_forward.global_mut().ops = vec![forward.clone()];
            let found = executor(self.registry).run_tensors(&only_forward, &[], &[&of], &scope_copy(scope));
            let mut zero = found.map_err(|e| e.to_string())?.remove(0);
            zero.bytes_mut().fill(0);
            let ty = program.global().var(&of).expect("declared").ty();
            program.global_mut().set_var(Var::new(name.clone(), ty));
            feeds.push((name, zero));
        }
        Ok(())
    }
}

fn scope_copy(scope: &Scope) -> Scope {
    let copy = Scope::new();
    for name in scope.names() {
        let value = scope.find(&name).expect("just listed").read().try_clone().expect("a value");
        copy.set(&name, value);
    }
    copy
}

fn executor(registry: &Arc<Registry>) -> Executor {
    Executor::new(ExecOptions {
        registry: registry.clone(),
        threads: 1,
        fuse: false,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    })
}

fn declare(program: &mut Program, op: &Op) {
    for name in op.outputs.args() {
        if program.global().var(name).is_none() {
            program.global_mut().set_var(Var::new(name.clone(), VarType::tensor(DType::F32, Shape::default())));
        }
    }
}

fn type_of(value: &Value) -> VarType {
    match value {
        Value::Dense(t) => VarType::tensor(t.dtype(), Shape::from(t.dims())).with_lod(t.lod().len()),
        Value::Rows(r) => {
            VarType::tensor(r.value.dtype(), Shape::from(&r.whole_dims())).with_kind(VarKind::SelectedRows)
        }
        Value::Array(a) => {
            let first = a.items().first();
            let (dtype, shape) = first.map_or((DType::F32, Shape::default()), |t| (t.dtype(), Shape::from(t.dims())));
            VarType::tensor(dtype, shape).with_kind(VarKind::TensorArray).with_lod(first.map_or(0, |t| t.lod().len()))
        }
        _ => VarType::tensor(DType::F32, Shape::default()),
    }
}

fn compare(found: &Value, expected: &Value, tol: Tolerance) -> Outcome<()> {
    match (found, expected) {
        (Value::Dense(a), Value::Dense(b)) => close(a, b, tol),
        (Value::Rows(a), Value::Rows(b)) => {
            if (&a.rows, a.height) != (&b.rows, b.height) {
                return Err(format!("has rows {:?} of {}, expected {:?} of {}", a.rows, a.height, b.rows, b.height));
            }
            close(&a.value, &b.value, tol)
        }
        (Value::Array(a), Value::Array(b)) if a.items().len() == b.items().len() => {
            a.items().iter().zip(b.items()).try_for_each(|(a, b)| close(a, b, tol))
        }
        (a, b) => Err(format!("is {}, expected {}", a.kind(), b.kind())),
    }
}

/// A JSON value as an attribute of the type that the signature's default has.
fn attr_of(value: &Json, default: Option<&Attr>) -> Option<Attr> {
    let ints = || value.as_array()?.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>();
    let floats = || value.as_array()?.iter().map(|v| Some(v.as_f64()? as f32)).collect::<Option<Vec<f32>>>();
    let strings = || value.as_array()?.iter().map(|v| Some(v.as_str()?.to_string())).collect::<Option<Vec<_>>>();
    let narrow = |v: Vec<i64>| v.into_iter().map(|v| v as i32).collect::<Vec<i32>>();
    match default {
        Some(Attr::Float(_)) => {
            let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
            return number.map(|v| Attr::Float(v as f32));
        }
        Some(Attr::Long(_)) => return value.as_i64().map(Attr::Long),
        Some(Attr::Longs(_)) => return ints().map(Attr::Longs),
        Some(Attr::Floats(_)) => return floats().map(Attr::Floats),
        Some(Attr::Bools(_)) => {
            return Some(Attr::Bools(value.as_array()?.iter().map(|v| v.as_bool().unwrap_or(false)).collect()));
        }
        _ => {}
    }
    match value {
        Json::Bool(v) => Some(Attr::Bool(*v)),
        Json::String(v) => Some(Attr::String(v.clone())),
        Json::Number(n) => {
            n.as_i64().map(|v| Attr::Int(v as i32)).or_else(|| n.as_f64().map(|v| Attr::Float(v as f32)))
        }
        Json::Array(_) => ints()
            .map(|v| Attr::Ints(narrow(v)))
            .or_else(|| floats().map(Attr::Floats))
            .or_else(|| strings().map(Attr::Strings)),
        _ => None,
    }
}
