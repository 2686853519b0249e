//! Traced programs, and programs that are called like one operator.

use std::sync::Arc;

use oarlock::eager::{BackwardOptions, ProgramFunction};
use oarlock::ir::Name;
use oarlock::prelude::*;

use super::{binary, engine, grad, leaf, unary, values};

#[test]
fn trace_is_a_program_of_the_calls() {
    let engine = engine();
    let (x, w) = (leaf(&engine, &[1.0, -2.0]), leaf(&engine, &[3.0, 4.0]));
    w.set_name("w");
    w.set_persistable(true);
    let work = || Ok(unary(&engine, "relu", &binary(&engine, "elementwise_mul", &x, &w)));
    let named = |out: &oarlock::eager::EagerTensor| -> Vec<(Name, _)> {
        vec![("x".into(), x.clone()), ("out".into(), out.clone())]
    };
    let (out, traced) = engine.trace(work, named).unwrap();
    let types: Vec<String> = traced.program.global().ops.iter().map(|op| op.op_type.to_string()).collect();
    assert_eq!(types, ["elementwise_mul", "relu"]);
    let names: Vec<&str> = traced.values.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["w"]);
    let function = Arc::new(ProgramFunction::new(&engine, traced.program, &["x"], &["w"], &["out"]));
    let engine = Arc::new(engine);
    let again = function.call(&engine, &[x.clone(), w.clone()]).unwrap().remove(0);
    assert_eq!((values(&out), values(&again)), (vec![3.0, 0.0], vec![3.0, 0.0]));
}

/// `out = mean(relu(x @ w + b))`, with a branch that a fusion may take apart.
fn network() -> (Program, [&'static str; 1], [&'static str; 2]) {
    let mut net = Net::new();
    let x = net.checked_data("x", &[-1, 3], DType::F32, 0).unwrap();
    let fc = Fc::size(2).act("relu").param_attr(ParamAttr::name("w")).bias_attr(ParamAttr::name("b"));
    let hidden = net.fc(&x, fc).unwrap();
    let loss = net.mean(&hidden).unwrap();
    let out = net.times(&loss, 2.0).unwrap();
    let mut program = net.main;
    program.global_mut().ops.last_mut().unwrap().outputs.rename(out.name(), &"out".into());
    let ty = program.find_var(0, out.name()).unwrap().ty();
    program.global_mut().set_var(oarlock::ir::Var::new("out", ty));
    (program, ["x"], ["w", "b"])
}

#[test]
fn program_called_like_an_operator_has_the_gradients_of_its_operators() {
    let engine = Arc::new(engine());
    let tensor = |dims: &[usize], values: &[f32]| {
        let t = engine.tensor(Tensor::from_slice(oarlock::tensor::Dims::new(dims), values).unwrap());
        t.set_stop_gradient(false);
        t
    };
    let x = tensor(&[2, 3], &[1.0, -2.0, 3.0, 0.5, 1.5, -1.0]);
    let w = tensor(&[3, 2], &[0.1, -0.2, 0.3, 0.4, -0.5, 0.6]);
    let b = tensor(&[2], &[0.05, -0.05]);
    let product = engine.build("mul").input("X", &x).input("Y", &w).get("Out").unwrap();
    let sum = engine.build("elementwise_add").input("X", &product).input("Y", &b).attr("axis", 1).get("Out").unwrap();
    let mean = unary(&engine, "mean", &unary(&engine, "relu", &sum));
    let out = engine.build("scale").input("X", &mean).attr("scale", 2.0f32).get("Out").unwrap();
    engine.backward(&[(out.clone(), None)], BackwardOptions::default()).unwrap();
    let expected = (values(&out), grad(&x), grad(&w), grad(&b));
    [&x, &w, &b].into_iter().for_each(|t| t.set_grad(None));

    let (program, inputs, parameters) = network();
    let function = Arc::new(ProgramFunction::new(&engine, program, &inputs, &parameters, &["out"]));
    for _ in 0..3 {
        let out = function.call(&engine, &[x.clone(), w.clone(), b.clone()]).unwrap().remove(0);
        [&x, &w, &b].into_iter().for_each(|t| t.set_grad(None));
        engine.backward(&[(out.clone(), None)], BackwardOptions::default()).unwrap();
        assert_eq!((values(&out), grad(&x), grad(&w), grad(&b)), expected);
    }
    w.set_stop_gradient(true);
    w.set_grad(None);
    let out = function.call(&engine, &[x.clone(), w.clone(), b]).unwrap().remove(0);
    engine.backward(&[(out.clone(), None)], BackwardOptions::default()).unwrap();
    assert!(w.grad().is_none());
    let e = engine.backward(&[(out, None)], BackwardOptions::default()).unwrap_err();
    assert!(e.to_string().contains("already"), "{e}");
}
