//! How operators are tested: one operator as a program, run by the real executor.
//!
//! A check compares outputs with what is expected, build-time inference with the run (also when the batch size is unknown), runs in
//! place against runs that are not, and gradient operators with numeric differentiation.
#![forbid(unsafe_code)]

use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Attr, Dim, Fusion, Grad, Name, Op, OpDef, Program, Registry, Shape, Var, VarKind, VarType};
use oarlock_ir::{append_op, grad_name};
use oarlock_tensor::{DType, Dims, Lod, SelectedRows, Tensor, Value};
use oarlock_testkit::{Tolerance, close};

/// An f32 tensor.
pub fn tensor(dims: impl Into<Dims>, data: &[f32]) -> Tensor {
    Tensor::from_slice(dims, data).expect("as many elements as the dims say")
}

/// A tensor of any element type.
pub fn tensor_of<T: oarlock_tensor::Element>(dims: impl Into<Dims>, data: &[T]) -> Tensor {
    Tensor::from_slice(dims, data).expect("as many elements as the dims say")
}

/// A tensor with one level of LoD offsets.
pub fn with_lod(mut t: Tensor, levels: &[&[usize]]) -> Tensor {
    t.set_lod(Lod::new(levels.iter().map(|l| l.to_vec()).collect()));
    t
}

/// An f32 tensor of reproducible values in [-1, 1], none near 0 (where many gradients jump).
pub fn noise(dims: impl Into<Dims>, seed: u32) -> Tensor {
    let dims = dims.into();
    let mut state = seed.wrapping_mul(2_654_435_769).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let v = (state >> 8) as f32 / (1 << 24) as f32 * 1.8 - 0.9;
        if v >= 0.0 { v + 0.1 } else { v - 0.1 }
    };
    let data: Vec<f32> = (0..dims.numel()).map(|_| next()).collect();
    tensor(dims, &data)
}

/// Defines the module `testing` of a crate of operators: this crate's names, and `check` for its operators.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the operators are those of the crate that calls it")]
macro_rules! harness {
    () => {
        mod testing {
            pub(crate) use oarlock_ops_testing::*;

            /// Starts a check of an operator of this crate.
            pub(crate) fn check(op_type: &str) -> Check {
                Check::new(crate::ops(), op_type)
            }
        }
    };
}

/// The check of one operator.
pub struct Check {
    registry: Arc<Registry>,
    op: Op,
    inputs: Vec<(Name, Value)>,
    expected: Vec<(String, Vec<Value>)>,
    same: Vec<(String, String)>,
    grad: Vec<String>,
    counting: Option<Vec<String>>,
    tol: Tolerance,
    grad_tol: Tolerance,
}

impl Check {
    /// Starts a check of one of these operators.
    pub fn new(ops: impl IntoIterator<Item = &'static dyn OpDef>, op_type: &str) -> Check {
        Check {
            registry: Arc::new(Registry::new(ops, [])),
            op: Op::new(op_type),
            inputs: Vec::new(),
            expected: Vec::new(),
            same: Vec::new(),
            grad: Vec::new(),
            counting: None,
            tol: Tolerance::new(1e-5, 1e-6),
            grad_tol: Tolerance::new(5e-3, 1e-4),
        }
    }

    /// An input.
    pub fn input(self, slot: &str, value: impl Into<Value>) -> Check {
        self.inputs(slot, vec![value.into()])
    }

    /// An input of several variables. Given again, it replaces what was there.
    pub fn inputs<V: Into<Value>>(mut self, slot: &str, values: Vec<V>) -> Check {
        let mut names = Vec::new();
        for (i, v) in values.into_iter().enumerate() {
            let name: Name = format!("{slot}.{i}").into();
            self.inputs.retain(|(n, _)| *n != name);
            self.inputs.push((name.clone(), v.into()));
            names.push(name);
        }
        self.op.inputs.set(slot, names);
        self
    }

    /// Selected rows as an input.
    pub fn rows_input(self, slot: &str, rows: &[i64], height: i64, value: Tensor) -> Check {
        self.input(slot, Value::Rows(SelectedRows { rows: rows.to_vec(), height, value }))
    }

    /// An attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Check {
        self.op.attrs.set(name, value);
        self
    }

    /// The expected value of an output.
    pub fn output(self, slot: &str, value: impl Into<Value>) -> Check {
        self.outputs(slot, vec![value.into()])
    }

    /// The expected values of the variables of an output; `Value::Empty` for one that is only made.
    pub fn outputs(mut self, slot: &str, values: Vec<Value>) -> Check {
        let names: Vec<Name> = (0..values.len()).map(|i| format!("{slot}.out{i}").into()).collect();
        self.op.outputs.set(slot, names);
        self.expected.push((slot.to_string(), values));
        self
    }

    /// An output that must be there, whatever it holds.
    pub fn any_output(self, slot: &str) -> Check {
        self.output(slot, Value::Empty)
    }

    /// An output that is the same variable as an input, as optimizers have it.
    pub fn in_place(mut self, input: &str, output: &str) -> Check {
        self.same.push((input.to_string(), output.to_string()));
        self
    }

    /// Checks the gradients of these inputs by numeric differentiation.
    pub fn grad(mut self, slots: &[&str]) -> Check {
        self.grad = slots.iter().map(|s| s.to_string()).collect();
        self
    }

    /// Only these outputs count in the loss that is differentiated; the others are by-products, to which no gradient comes.
    pub fn counting(mut self, slots: &[&str]) -> Check {
        self.counting = Some(slots.iter().map(|s| s.to_string()).collect());
        self
    }

    /// Does an output variable count in the loss?
    fn counts(&self, name: &Name) -> bool {
        let in_slot = |slot: &String| self.op.outputs.get(slot).contains(name);
        self.counting.as_ref().is_none_or(|slots| slots.iter().any(in_slot))
    }

    /// Another tolerance for outputs.
    pub fn tolerance(mut self, rel: f64, abs: f64) -> Check {
        self.tol = Tolerance::new(rel, abs);
        self
    }

    /// Another tolerance for gradients.
    pub fn grad_tolerance(mut self, rel: f64, abs: f64) -> Check {
        self.grad_tol = Tolerance::new(rel, abs);
        self
    }

    /// Runs the check.
    #[track_caller]
    pub fn run(self) {
        self.run_forward(Dim::Is);
        self.run_forward(|_| Dim::Any);
        self.run_overwriting();
        for slot in &self.grad {
            self.check_grad(slot);
        }
    }

    /// The error a run, or building the operator, gives.
    pub fn error(self) -> String {
        let mut bench = match Bench::try_new(&self, Dim::Is) {
            Ok(b) => b,
            Err(e) => return e.to_string(),
        };
        match bench.run(&[]) {
            Ok(_) => panic!("`{}` should have failed", self.op.op_type),
            Err(e) => e.to_string(),
        }
    }

    fn op_in_place(&self) -> Op {
        let mut op = self.op.clone();
        for (input, output) in &self.same {
            let args = op.inputs.get(input).to_vec();
            op.outputs.set(output.as_str(), args);
        }
        op
    }

    #[track_caller]
    fn run_forward(&self, first_dim: impl Fn(usize) -> Dim) {
        let mut bench = Bench::new(self, first_dim);
        for (slot, values) in &self.expected {
            let names = bench.op.outputs.get(slot).to_vec();
            for (name, expected) in names.iter().zip(values) {
                let found = bench.fetch(name);
                bench.compare_inferred(name, &found);
                compare(&format!("`{}` output {name}", self.op.op_type), &found, expected, self.tol);
            }
        }
    }

    /// Every output that may overwrite an input must give the same values when it does.
    #[track_caller]
    fn run_overwriting(&self) {
        let traits = self.registry.get(&self.op.op_type).expect("a known operator").traits;
        for (input, output) in traits.in_place {
            let (ins, outs) = (self.op.inputs.get(input), self.op.outputs.get(output));
            let (true, true) = (ins.len() == 1, outs.len() == 1) else { continue };
            let expected = Bench::new(self, Dim::Is).fetch(&outs[0]);
            let mut over = Check {
                registry: self.registry.clone(),
                op: self.op.clone(),
                same: self.same.clone(),
                inputs: Vec::new(),
                expected: Vec::new(),
                grad: Vec::new(),
                counting: None,
                ..*self
            };
            over.inputs = self.inputs.iter().map(|(n, v)| (n.clone(), v.try_clone().expect("a value"))).collect();
            over.same.push((input.to_string(), output.to_string()));
            let found = Bench::new(&over, Dim::Is).fetch(&ins[0]);
            compare(
                &format!("`{}` with `{output}` over `{input}`", self.op.op_type),
                &found,
                &expected,
                Tolerance::EXACT,
            );
        }
    }

    /// The gradient operators against numeric differentiation of sum(output * weight).
    #[track_caller]
    fn check_grad(&self, slot: &str) {
        let mut bench = Bench::new(self, Dim::Is);
        let weights = bench.append_grad(|name| self.counts(name));
        for name in self.op.inputs.get(slot).to_vec() {
            let Value::Dense(found) = bench.fetch_with(&grad_name(&name), &weights) else {
                panic!("gradient of {name} is not a dense tensor")
            };
            let found = found.to_f64();
            let expected = bench.numeric(&name, &weights);
            for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert!(
                    (a - b).abs() <= self.grad_tol.abs + self.grad_tol.rel * b.abs(),
                    "`{}` gradient of {name} element {i} is {a}, numerically {b}",
                    self.op.op_type
                );
            }
            assert_eq!(found.len(), expected.len(), "size of the gradient of {name}");
        }
    }
}

fn executor(registry: &Arc<Registry>, fuse: bool) -> Executor {
    Executor::new(ExecOptions {
        registry: registry.clone(),
        threads: 1,
        fuse,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    })
}

#[track_caller]
fn compare(what: &str, found: &Value, expected: &Value, tol: Tolerance) {
    let check = |a: &Tensor, b: &Tensor| {
        if let Err(e) = close(a, b, tol) {
            panic!("{what} {e}");
        }
    };
    match (found, expected) {
        (_, Value::Empty) => {}
        (Value::Dense(a), Value::Dense(b)) => check(a, b),
        (Value::Rows(a), Value::Rows(b)) => {
            assert_eq!((&a.rows, a.height), (&b.rows, b.height), "{what}: rows");
            check(&a.value, &b.value);
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.items().len(), b.items().len(), "{what}: length of the array");
            a.items().iter().zip(b.items()).for_each(|(a, b)| check(a, b));
        }
        (a, b) => assert_eq!(format!("{a:?}"), format!("{b:?}"), "{what}"),
    }
}

/// One operator in a program, with its inputs in a scope.
struct Bench {
    program: Program,
    op: Op,
    inputs: Vec<(Name, Value)>,
    executor: Executor,
    registry: Arc<Registry>,
}

impl Bench {
    #[track_caller]
    fn new(check: &Check, first_dim: impl Fn(usize) -> Dim) -> Bench {
        Bench::try_new(check, first_dim).unwrap_or_else(|e| panic!("{e}"))
    }

    fn try_new(check: &Check, first_dim: impl Fn(usize) -> Dim) -> oarlock_ir::Result<Bench> {
        let registry = check.registry.clone();
        let mut program = Program::new();
        for (name, value) in &check.inputs {
            let mut var = Var::new(name.clone(), type_of(value, &first_dim));
            var.persistable = true;
            program.global_mut().set_var(var);
        }
        let op = check.op_in_place();
        for name in op.outputs.args() {
            if program.global().var(name).is_none() {
                program.global_mut().set_var(Var::new(name.clone(), VarType::tensor(DType::F32, Shape::default())));
            }
        }
        append_op(&mut program, 0, op.clone(), &registry)?;
        let inputs = check.inputs.iter().map(|(n, v)| (n.clone(), v.try_clone().expect("a value"))).collect();
        let executor = executor(&registry, false);
        Ok(Bench { program, op, inputs, executor, registry })
    }

    fn scope(&self) -> Scope {
        let scope = Scope::new();
        for (name, value) in &self.inputs {
            scope.set(name, value.try_clone().expect("a value"));
        }
        scope
    }

    fn run(&mut self, fetches: &[&str]) -> oarlock_ir::Result<Vec<Value>> {
        self.executor.run(&self.program, &[], fetches, &self.scope())
    }

    #[track_caller]
    fn fetch(&mut self, name: &str) -> Value {
        let mut values = self.run(&[name]).unwrap_or_else(|e| panic!("{e}"));
        values.remove(0)
    }

    #[track_caller]
    fn fetch_with(&mut self, name: &str, feeds: &[(Name, Tensor)]) -> Value {
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let result = self.executor.run(&self.program, &feeds, &[name], &self.scope());
        result.unwrap_or_else(|e| panic!("{e}")).remove(0)
    }

    /// Compares the inferred type with the value of the run.
    #[track_caller]
    fn compare_inferred(&self, name: &str, found: &Value) {
        let ty = self.program.global().var(name).expect("declared").ty();
        match found {
            Value::Dense(t) => {
                assert_eq!(ty.kind, VarKind::Tensor, "inferred kind of {name}");
                assert_eq!(ty.dtype, t.dtype(), "inferred dtype of {name}");
                assert!(ty.shape.fits(t.dims()), "inferred {ty} for {name}, but the run gave {}", t.dims());
            }
            Value::Rows(r) => {
                assert_eq!(ty.kind, VarKind::SelectedRows, "inferred kind of {name}");
                assert_eq!(ty.dtype, r.value.dtype(), "inferred dtype of {name}");
            }
            Value::Array(_) => assert_eq!(ty.kind, VarKind::TensorArray, "inferred kind of {name}"),
            _ => {}
        }
    }

    /// Appends the gradient operators; returns gradients to feed for the float outputs that count.
    #[track_caller]
    fn append_grad(&mut self, counts: impl Fn(&Name) -> bool) -> Vec<(Name, Tensor)> {
        let mut weights = Vec::new();
        for (i, name) in self.op.outputs.clone().args().enumerate() {
            if counts(name)
                && let Value::Dense(out) = self.fetch(name)
                && out.dtype().is_float()
                && !self.op.inputs.args().any(|n| n == name)
            {
                let mut weight = noise(*out.dims(), 77 + i as u32);
                weight.set_lod(out.lod().clone());
                let ty = self.program.global().var(name).expect("declared").ty();
                self.program.global_mut().set_var(Var::new(grad_name(name), ty));
                weights.push((grad_name(name), weight));
            }
        }
        let entry = self.registry.entry(&self.op.op_type).expect("a known operator");
        let no_grad = |_: &str| false;
        let ops = {
            let mut g = Grad::new(&self.program, &self.op, &no_grad, None);
            entry.grad(&mut g).unwrap_or_else(|e| panic!("{e}"));
            g.into_ops()
        };
        for mut op in ops {
            self.drop_missing(&mut op);
            for name in op.outputs.args() {
                let var = Var::new(name.clone(), VarType::tensor(DType::F32, Shape::default()));
                self.program.global_mut().set_var(var);
            }
            append_op(&mut self.program, 0, op, &self.registry).unwrap_or_else(|e| panic!("{e}"));
        }
        weights
    }

    /// Gradients of outputs that have none (integers, unused) are not inputs of the gradient operator,
    /// and integer inputs get no gradient.
    fn drop_missing(&self, op: &mut Op) {
        let known = |n: &Name| self.program.global().var(n).is_some();
        for (_, args) in op.inputs.iter_mut() {
            args.retain(|n| known(n));
        }
        let float = |n: &Name| {
            let of = n.strip_suffix(oarlock_ir::GRAD).and_then(|b| self.program.global().var(b));
            of.is_none_or(|v| v.ty().dtype.is_float())
        };
        for (_, args) in op.outputs.iter_mut() {
            args.retain(float);
        }
    }

    /// Numeric gradient of sum over outputs of output * weight, with respect to one input.
    fn numeric(&mut self, input: &Name, weights: &[(Name, Tensor)]) -> Vec<f64> {
        let at = self.inputs.iter().position(|(n, _)| n == input).expect("an input");
        let Value::Dense(original) = self.inputs[at].1.try_clone().expect("a value") else { panic!("a dense input") };
        let step = 1e-2f32;
        let mut grads = Vec::new();
        for i in 0..original.numel() {
            let mut side = |delta: f32| {
                let mut moved = original.clone();
                moved.data_mut::<f32>().expect("f32 inputs")[i] += delta;
                self.inputs[at].1 = Value::Dense(moved);
                self.weighted_sum(weights)
            };
            // Four-point formula: the error is of fourth order, so a large step keeps rounding small.
            let (a, b) = (side(step) - side(-step), side(2.0 * step) - side(-2.0 * step));
            grads.push((8.0 * a - b) / (12.0 * step as f64));
        }
        self.inputs[at].1 = Value::Dense(original);
        grads
    }

    fn weighted_sum(&mut self, weights: &[(Name, Tensor)]) -> f64 {
        let mut total = 0.0;
        for (grad, weight) in weights {
            let name = grad.strip_suffix(oarlock_ir::GRAD).expect("a gradient");
            let Value::Dense(out) = self.fetch_with(name, weights) else { continue };
            total += out.to_f64().iter().zip(weight.to_f64()).map(|(a, b)| a * b).sum::<f64>();
        }
        total
    }
}

fn type_of(value: &Value, first_dim: &impl Fn(usize) -> Dim) -> VarType {
    let of_tensor = |t: &Tensor| {
        let mut shape = Shape::from(t.dims());
        if let Some(d) = shape.0.first_mut() {
            *d = first_dim(t.dims()[0]);
        }
        VarType::tensor(t.dtype(), shape).with_lod(t.lod().len())
    };
    match value {
        Value::Dense(t) => of_tensor(t),
        Value::Rows(r) => {
            VarType::tensor(r.value.dtype(), Shape::from(&r.whole_dims())).with_kind(VarKind::SelectedRows)
        }
        Value::Array(a) => {
            let inner = a.items().first().map_or_else(|| VarType::tensor(DType::F32, Shape::default()), of_tensor);
            inner.with_kind(VarKind::TensorArray)
        }
        Value::RankTable(_) => VarType::tensor(DType::F32, Shape::default()).with_kind(VarKind::RankTable),
        _ => VarType::tensor(DType::F32, Shape::default()).with_kind(VarKind::Raw),
    }
}

/// Checks that a program gives the same bits with fusions and without, and that it really is fused.
pub struct FusionCheck {
    registry: Arc<Registry>,
    program: Program,
    inputs: Vec<(Name, Tensor)>,
}

impl FusionCheck {
    /// Starts a check with a program in its text form; `inputs` are the variables it reads.
    #[track_caller]
    pub fn new(
        ops: impl IntoIterator<Item = &'static dyn OpDef>,
        fusions: impl IntoIterator<Item = &'static dyn Fusion>,
        text: &str,
        inputs: Vec<(&str, Tensor)>,
    ) -> FusionCheck {
        let registry = Arc::new(Registry::new(ops, fusions));
        let mut program = Program::from_text(text).unwrap_or_else(|e| panic!("{e}"));
        let ops = std::mem::take(&mut program.global_mut().ops);
        for op in ops {
            append_op(&mut program, 0, op, &registry).unwrap_or_else(|e| panic!("{e}"));
        }
        FusionCheck { registry, program, inputs: inputs.into_iter().map(|(n, t)| (n.into(), t)).collect() }
    }

    /// Appends gradients of a loss with respect to these parameters.
    #[track_caller]
    pub fn gradients(mut self, loss: &str, parameters: &[&str]) -> FusionCheck {
        let options = oarlock_ir::BackwardOptions {
            parameter_list: Some(parameters.iter().map(|&p| p.into()).collect()),
            no_grad_set: Default::default(),
            after_op: None,
            checkpoints: &[],
        };
        let made = oarlock_ir::append_backward(&mut self.program, (0, loss), &self.registry, &options);
        made.unwrap_or_else(|e| panic!("{e}"));
        self
    }

    /// Where the first operator of a type stands.
    #[track_caller]
    pub fn position(&self, op_type: &str) -> usize {
        self.program.global().ops.iter().position(|op| op.op_type == op_type).expect("an operator of this type")
    }

    /// Appends one more operator, given as text.
    #[track_caller]
    pub fn append(self, text: &str) -> FusionCheck {
        let end = self.program.global().ops.len();
        self.insert(end, text)
    }

    /// Puts one more operator, given as text, at a position.
    #[track_caller]
    pub fn insert(mut self, at: usize, text: &str) -> FusionCheck {
        let whole = format!("{}", self.program).replacen("\n}\n", &format!("\n{text}\n}}\n"), 1);
        let mut with = Program::from_text(&whole).unwrap_or_else(|e| panic!("{e}"));
        let op = with.global_mut().ops.pop().expect("an operator");
        let later = self.program.global_mut().ops.split_off(at);
        append_op(&mut self.program, 0, op, &self.registry).unwrap_or_else(|e| panic!("{e}"));
        self.program.global_mut().ops.extend(later);
        self
    }

    /// The fused plan that fetches these must hold none of these operators.
    #[track_caller]
    pub fn lacks(&self, fetches: &[&str], op_types: &[&str]) {
        let names: Vec<&str> = self.inputs.iter().map(|(n, _)| n.as_str()).collect();
        let planned = executor(&self.registry, true)
            .planned_program(&self.program, &names, fetches)
            .unwrap_or_else(|e| panic!("{e}"));
        let left = planned.global().ops.iter().find(|op| op_types.contains(&op.op_type.as_str()));
        assert!(left.is_none(), "`{}` in\n{}", left.map_or("", |op| &op.op_type), planned.summary());
    }

    /// Runs both ways, fetches these, and compares; the fused plan must hold these operators (each as often as listed).
    #[track_caller]
    pub fn run(self, fetches: &[&str], fused: &[&str]) {
        let inputs: Vec<(&str, &Tensor)> = self.inputs.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let names: Vec<&str> = inputs.iter().map(|(n, _)| *n).collect();
        let planned = executor(&self.registry, true)
            .planned_program(&self.program, &names, fetches)
            .unwrap_or_else(|e| panic!("{e}"));
        for op_type in fused {
            let want = fused.iter().filter(|t| *t == op_type).count();
            let found = planned.global().ops.iter().filter(|op| op.op_type == *op_type).count();
            assert_eq!(found, want, "`{op_type}` in\n{}", planned.summary());
        }
        let run = |fuse: bool| {
            let result = executor(&self.registry, fuse).run(&self.program, &inputs, fetches, &Scope::new());
            result.unwrap_or_else(|e| panic!("fused: {fuse}: {e}"))
        };
        for ((name, with), without) in fetches.iter().zip(run(true)).zip(run(false)) {
            compare(&format!("fused `{name}`"), &with, &without, Tolerance::EXACT);
        }
    }
}
