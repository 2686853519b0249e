//! Inference against runs: random shapes, some without rows, some sizes unknown when the program is built.
//!
//! Inferred types must fit the values of a run; with all sizes known it must be exactly that, and what inference lets pass
//! must run.

use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Dim, Op, Program, Registry, Shape, Var, VarType, append_op};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use proptest::prelude::*;

/// One to three sizes; 0 is one of them.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..4, 1..4)
}

/// An operator with its inputs; which sizes are unknown is drawn, too.
struct Case {
    op: Op,
    inputs: Vec<(&'static str, Vec<usize>)>,
    hidden: Vec<bool>,
}

impl Case {
    fn declared(&self, shape: &[usize], nth: usize) -> Shape {
        let hide = |i: usize| self.hidden[(nth * 3 + i) % self.hidden.len()];
        Shape(shape.iter().enumerate().map(|(i, n)| if hide(i) { Dim::Any } else { Dim::Is(*n) }).collect())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let registry = Arc::new(Registry::new(oarlock_ops::ops(), oarlock_ops::fusions()));
        let mut program = Program::new();
        let scope = Scope::new();
        for (nth, (name, shape)) in self.inputs.iter().enumerate() {
            let mut var = Var::new(*name, VarType::tensor(DType::F32, self.declared(shape, nth)));
            var.persistable = true;
            program.global_mut().set_var(var);
            scope.set(name, Value::Dense(Tensor::zeros(DType::F32, Dims::new(shape))));
        }
        for name in self.op.outputs.args() {
            program.global_mut().set_var(Var::new(name.clone(), VarType::tensor(DType::F32, Shape::default())));
        }
        // What cannot be built need not run: shapes are drawn freely.
        if append_op(&mut program, 0, self.op.clone(), &registry).is_err() {
            return Ok(());
        }
        let options =
            ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false };
        let names: Vec<&str> = self.op.outputs.args().map(|n| n.as_str()).collect();
        let all_known = !self.hidden.contains(&true);
        match Executor::new(options).run_tensors(&program, &[], &names, &scope) {
            Ok(found) => {
                for (name, found) in names.iter().zip(&found) {
                    let ty = program.global().var(name).expect("declared").ty();
                    prop_assert!(ty.shape.fits(found.dims()), "{}: inferred {ty}, ran to {}", self, found.dims());
                    let exact = !all_known || ty.shape == Shape::from(found.dims());
                    prop_assert!(exact, "{}: inferred {ty} from known sizes, ran to {}", self, found.dims());
                }
            }
            Err(e) => prop_assert!(!all_known, "{}: was built, but does not run: {e}", self),
        }
        Ok(())
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {:?}, hidden {:?}", self.op.op_type, self.inputs, self.hidden)
    }
}

/// Which sizes are unknown: none, or some.
fn hidden() -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![Just(vec![false]), prop::collection::vec(any::<bool>(), 6)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elementwise(x in shape(), y in shape(), same in any::<bool>(), axis in -1i32..3, hidden in hidden()) {
        let y = if same { x[x.len() - y.len().min(x.len())..].to_vec() } else { y };
        let op = Op::new("elementwise_add").input("X", ["x"]).input("Y", ["y"]).output("Out", ["out"]).attr("axis", axis);
        Case { op, inputs: vec![("x", x), ("y", y)], hidden }.check()?;
    }

    #[test]
    fn reduce(x in shape(), dim in prop::collection::vec(-3i32..3, 0..3), keep in any::<bool>(), all in any::<bool>(), hidden in hidden()) {
        let op = Op::new("reduce_sum").input("X", ["x"]).output("Out", ["out"]);
        let op = op.attr("dim", dim).attr("keep_dim", keep).attr("reduce_all", all);
        Case { op, inputs: vec![("x", x)], hidden }.check()?;
    }

    #[test]
    fn reshape(x in shape(), to in prop::collection::vec(-1i32..7, 1..4), hidden in hidden()) {
        let op = Op::new("reshape").input("X", ["x"]).output("Out", ["out"]).attr("shape", to);
        Case { op, inputs: vec![("x", x)], hidden }.check()?;
    }

    #[test]
    fn concat(x in shape(), other in 0usize..4, axis in -3i32..3, hidden in hidden()) {
        let mut y = x.clone();
        let last = y.len() - 1;
        y[axis.rem_euclid(last as i32 + 1) as usize] = other;
        let op = Op::new("concat").input("X", ["x", "y"]).output("Out", ["out"]).attr("axis", axis);
        Case { op, inputs: vec![("x", x), ("y", y)], hidden }.check()?;
    }

    #[test]
    fn split(x in shape(), axis in -3i32..3, sections in prop::collection::vec(-1i32..3, 0..3), hidden in hidden()) {
        let pieces = if sections.is_empty() { 2 } else { sections.len() };
        let names: Vec<String> = (0..pieces).map(|i| format!("out{i}")).collect();
        let op = Op::new("split").input("X", ["x"]).output("Out", names.iter().map(String::as_str));
        let num = if sections.is_empty() { 2 } else { 0 };
        let op = op.attr("axis", axis).attr("sections", sections).attr("num", num);
        Case { op, inputs: vec![("x", x)], hidden }.check()?;
    }

    #[test]
    fn slice(x in shape(), axis in 0i32..3, start in -4i32..4, end in -4i32..6, hidden in hidden()) {
        let op = Op::new("slice").input("Input", ["x"]).output("Out", ["out"]);
        let op = op.attr("axes", vec![axis]).attr("starts", vec![start]).attr("ends", vec![end]);
        Case { op, inputs: vec![("x", x)], hidden }.check()?;
    }

    #[test]
    fn transpose(x in shape(), turn in 0usize..3, hidden in hidden()) {
        let axes: Vec<i32> = (0..x.len()).map(|i| ((i + turn) % x.len()) as i32).collect();
        let op = Op::new("transpose").input("X", ["x"]).output("Out", ["out"]).attr("axis", axes);
        Case { op, inputs: vec![("x", x)], hidden }.check()?;
    }

    #[test]
    fn matmul(x in shape(), y in shape(), same in any::<bool>(), turn in any::<(bool, bool)>(), hidden in hidden()) {
        let mut y = y;
        if same && let ([.., k], [.., rows, _]) = (&x[..], &mut y[..]) {
            *rows = *k;
        }
        let op = Op::new("matmul").input("X", ["x"]).input("Y", ["y"]).output("Out", ["out"]);
        // A transposed vector keeps its axis unless it has one element, so the rank depends on a size.
        let op = op.attr("transpose_X", turn.0 && x.len() > 1).attr("transpose_Y", turn.1 && y.len() > 1);
        Case { op, inputs: vec![("x", x), ("y", y)], hidden }.check()?;
    }
}
