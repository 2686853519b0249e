//! Gradients of gradients: a penalty on the gradient of a loss, differentiated again, against numeric differentiation.

use std::collections::HashSet;
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{GradientTargets, Name, Op, Program, Registry, Shape, Var, VarType, append_op, gradients};
use oarlock_tensor::{DType, Tensor};

/// sum(gradient^2) of loss = sum(f(x, y)^2), where `f` is an operator.
struct Penalty {
    program: Program,
    registry: Arc<Registry>,
    inputs: Vec<(Name, Tensor)>,
}

fn numbers<const N: usize>(shape: [usize; N], seed: usize) -> Tensor {
    // Away from 0, where slopes jump, and positive for the root and the divisor.
    let data: Vec<f32> = (0..shape.iter().product()).map(|i| 0.4 + ((i * 7 + seed * 5) % 11) as f32 * 0.1).collect();
    Tensor::from_slice(shape, &data).expect("as many as the shape says")
}

impl Penalty {
    fn new(inputs: &[(&str, Tensor)]) -> Penalty {
        let mut program = Program::new();
        let mut owned = Vec::new();
        for (name, tensor) in inputs {
            let ty = VarType::tensor(DType::F32, Shape::from(tensor.dims()));
            program.global_mut().set_var(Var::new(*name, ty));
            owned.push((Name::from(*name), tensor.clone()));
        }
        let registry = Arc::new(Registry::new(oarlock_ops::ops(), oarlock_ops::fusions()));
        Penalty { program, registry, inputs: owned }
    }

    fn append(&mut self, op: Op) {
        for name in op.outputs.args() {
            let ty = VarType::tensor(DType::F32, Shape::default());
            self.program.global_mut().set_var(Var::new(name.clone(), ty));
        }
        append_op(&mut self.program, 0, op, &self.registry).unwrap_or_else(|e| panic!("{e}"));
    }

    fn sum_of_squares(&mut self, of: &str, to: &str) {
        let squares = format!("{to}.squares");
        self.append(Op::new("square").input("X", [of]).output("Out", [squares.as_str()]));
        self.append(Op::new("reduce_sum").input("X", [squares.as_str()]).output("Out", [to]).attr("reduce_all", true));
    }

    fn gradients(&mut self, target: &str) -> Vec<Name> {
        let (targets, inputs) = ([Name::from(target)], self.inputs.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>());
        let targets = GradientTargets { block: 0, names: &targets, gradients: &[] };
        let found = gradients(&mut self.program, &targets, &inputs, &HashSet::new(), &self.registry);
        found.unwrap_or_else(|e| panic!("{e}")).into_iter().map(|g| g.expect("all inputs matter")).collect()
    }

    fn fetch(&self, inputs: &[(Name, Tensor)], name: &str) -> Vec<f64> {
        let options = ExecOptions {
            registry: self.registry.clone(),
            threads: 1,
            fuse: false,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        let feeds: Vec<(&str, &Tensor)> = inputs.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let found = Executor::new(options).run_tensors(&self.program, &feeds, &[name], &Scope::new());
        found.unwrap_or_else(|e| panic!("{e}")).remove(0).to_f64()
    }

    /// Builds the loss, its gradient, the penalty and the gradient of that, and checks the last.
    fn check(self, op: Op) {
        self.check_output("Out", op);
    }

    /// The same for an operator whose result has another name.
    fn check_output(mut self, slot: &str, op: Op) {
        let op_type = op.op_type.clone();
        self.append(op.output(slot, ["out"]));
        self.sum_of_squares("out", "loss");
        let first = self.gradients("loss");
        let parts: Vec<String> = (0..first.len()).map(|i| format!("part{i}")).collect();
        for (grad, part) in first.iter().zip(&parts) {
            self.sum_of_squares(grad, part);
        }
        self.append(Op::new("sum").input("X", parts.iter().map(String::as_str)).output("Out", ["penalty"]));
        let second = self.gradients("penalty");
        for (n, grad) in second.iter().enumerate() {
            let found = self.fetch(&self.inputs, grad);
            for (i, found) in found.into_iter().enumerate() {
                let side = |step: f32| {
                    let mut moved = self.inputs.clone();
                    moved[n].1.data_mut::<f32>().expect("f32")[i] += step;
                    self.fetch(&moved, "penalty")[0]
                };
                let expected = (side(1e-2) - side(-1e-2)) / 2e-2;
                let close = (found - expected).abs() <= 1e-2 + 1e-2 * expected.abs();
                assert!(close, "{op_type}: double gradient of input {n}, element {i}: {found}, numerically {expected}");
            }
        }
    }
}

#[test]
fn unary() {
    for op_type in ["relu", "leaky_relu", "square", "sqrt", "elu"] {
        Penalty::new(&[("x", numbers([2, 3], 1))]).check(Op::new(op_type).input("X", ["x"]));
    }
    let mut negative = numbers([2, 3], 1);
    negative.data_mut::<f32>().expect("f32").iter_mut().for_each(|v| *v = -*v);
    for op_type in ["leaky_relu", "elu"] {
        let op = Op::new(op_type).input("X", ["x"]).attr("alpha", 0.3f32);
        Penalty::new(&[("x", negative.clone())]).check(op);
    }
}

#[test]
fn binary_with_broadcasting() {
    for op_type in ["elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"] {
        for y in [[2, 3], [1, 3], [2, 1]] {
            let inputs = [("x", numbers([2, 3], 1)), ("y", numbers(y, 2))];
            Penalty::new(&inputs).check(Op::new(op_type).input("X", ["x"]).input("Y", ["y"]));
        }
    }
}

#[test]
fn matrices() {
    let inputs = [("x", numbers([2, 3], 1)), ("y", numbers([3, 2], 2))];
    Penalty::new(&inputs).check(Op::new("mul").input("X", ["x"]).input("Y", ["y"]));
}

#[test]
fn sums() {
    for op_type in ["reduce_sum", "reduce_mean"] {
        let op = Op::new(op_type).input("X", ["x"]).attr("dim", vec![1]);
        Penalty::new(&[("x", numbers([2, 3], 1))]).check(op);
    }
}

#[test]
fn other_sizes() {
    let x = || Penalty::new(&[("x", numbers([2, 3], 1))]);
    x().check(Op::new("reshape2").input("X", ["x"]).output("XShape", ["sizes"]).attr("shape", vec![3, -1]));
    x().check(Op::new("expand").input("X", ["x"]).attr("expand_times", vec![2, 1]));
    let slice = Op::new("slice").input("Input", ["x"]).attr("axes", vec![1]).attr("starts", vec![1]);
    x().check(slice.attr("ends", vec![3]));
    let every = Op::new("strided_slice").input("Input", ["x"]).attr("axes", vec![1]).attr("starts", vec![0]);
    x().check(every.attr("ends", vec![3]).attr("strides", vec![2]));
}

#[test]
fn convolutions() {
    let conv = |op_type: &str| Op::new(op_type).input("Input", ["x"]).input("Filter", ["y"]);
    let images = [("x", numbers([1, 2, 3, 3], 1)), ("y", numbers([2, 2, 2, 2], 2))];
    Penalty::new(&images).check_output("Output", conv("conv2d").attr("paddings", vec![1, 0]));
    let last = [("x", numbers([1, 3, 3, 2], 1)), ("y", numbers([2, 1, 2, 2], 2))];
    Penalty::new(&last).check_output("Output", conv("conv2d").attr("data_format", "NHWC").attr("groups", 2));
    let volumes = [("x", numbers([1, 1, 2, 2, 3], 1)), ("y", numbers([2, 1, 2, 1, 2], 2))];
    Penalty::new(&volumes).check_output("Output", conv("conv3d"));
}

#[test]
fn normalized() {
    let inputs = [("x", numbers([2, 2, 3], 1)), ("s", numbers([2], 2)), ("b", numbers([2], 3))];
    let op = Op::new("instance_norm").input("X", ["x"]).input("Scale", ["s"]).input("Bias", ["b"]);
    // Deviations are large enough for differences of f32.
    let op = op.output("SavedMean", ["mean"]).output("SavedVariance", ["inverse"]).attr("epsilon", 0.3f32);
    Penalty::new(&inputs).check_output("Y", op);
}
