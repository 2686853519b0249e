//! Small programs: what cannot be differentiated, and what callers can ask for.

use std::cell::RefCell;

use expect_test::expect;
use oarlock_ir::{
    Attr, BackwardOptions, Dim, Grad, GradientTargets, Infer, Kernel, Kind, Name, Op, OpDef, Prepare, Program,
    Registry, Result, Sig, Var, VarType, append_backward, gradients,
};
use oarlock_tensor::DType;

use crate::{operators, options};

/// An operator without a gradient.
struct Opaque;

impl OpDef for Opaque {
    fn sig(&self) -> Sig {
        Sig::new("opaque", "something").input("X", "").output("Out", "")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(oarlock_ir::Error::internal("no kernel"))
    }
}

/// An operator whose gradient reads nothing of the forward pass.
struct Twice;

impl OpDef for Twice {
    fn sig(&self) -> Sig {
        Sig::new("twice", "2 x").inputs("X", "").outputs("Out", "").attr("note", "", "kept in the gradient")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(oarlock_ir::Error::internal("no kernel"))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("twice", &[], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

fn registry() -> Registry {
    let table = operators::registry();
    let ops = ["fill_constant", "shape", "sum"].map(|t| table.get(t).expect("in the table").def);
    Registry::new(ops.into_iter().chain([&Opaque as &'static dyn OpDef, &Twice]), [])
}

/// x -> (opaque) -> y -> (twice) -> loss, where x is computed from the parameter w.
fn program() -> Program {
    let mut p = Program::new();
    for name in ["w", "x", "y", "loss"] {
        p.global_mut().set_var(Var::new(name, VarType::tensor(DType::F32, vec![Dim::Is(1)])));
    }
    p.global_mut().vars["w"].meta.is_parameter = true;
    for (op_type, from, to) in [("twice", "w", "x"), ("opaque", "x", "y"), ("twice", "y", "loss")] {
        let mut op = Op::new(op_type).input("X", [from]).output("Out", [to]).attr("op_device", "cpu:1");
        op.site = Some("train.py:7 in net".into());
        p.global_mut().ops.push(op);
    }
    p
}

#[test]
fn an_operator_without_gradient_is_named() {
    let mut p = program();
    let before = p.clone();
    let e = append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap_err();
    expect![[r#"
        error[no-gradient]: `opaque` has no gradient, but the loss depends on its output through it
          at train.py:7 in net (`opaque`, block 0, op 1)
          help: set stop_gradient on its inputs or outputs if no gradient should flow there, or use another operator"#]]
    .assert_eq(&e.to_string());
    assert!(p == before && p.backward_passes == 0, "the program stays as it was");
}

#[test]
fn an_operator_without_gradient_does_no_harm_where_none_flows() {
    for stopped in ["x", "y"] {
        let mut p = program();
        p.global_mut().vars[stopped].meta.stop_gradient = true;
        assert_eq!(append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap(), []);
    }
}

#[test]
fn a_loss_must_be_computed() {
    let mut p = program();
    let e = append_backward(&mut p, (0, "w"), &registry(), &options()).unwrap_err();
    expect![[r#"
        error[argument]: no operator of block 0 computes the loss `w`
          help: minimise a variable that the program computes, such as the result of layers.mean"#]]
    .assert_eq(&e.to_string());
    let e = append_backward(&mut p, (0, "los"), &registry(), &options()).unwrap_err();
    expect!["error[unknown]: there is no variable `los` in block 0 or around it"].assert_eq(&e.to_string());
}

#[test]
fn an_unknown_operator_is_named() {
    let mut p = program();
    p.global_mut().ops[1].op_type = "opaqe".into();
    let e = append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap_err();
    expect![[r#"
        error[unknown]: there is no operator `opaqe`
          at train.py:7 in net (`opaqe`, block 0, op 1)
          help: did you mean `opaque`?"#]]
    .assert_eq(&e.to_string());
}

#[test]
fn given_gradients_must_fit() {
    let mut p = program();
    p.global_mut().set_var(Var::new("g", VarType::tensor(DType::F32, vec![Dim::Is(2)])));
    let mut ask = |names: &[Name], given: &[Option<Name>]| {
        let targets = GradientTargets { block: 0, names, gradients: given };
        gradients(&mut p, &targets, &["y".into()], &Default::default(), &registry()).unwrap_err()
    };
    let e = ask(&["loss".into()], &[Some("g".into())]);
    expect!["error[shape]: `loss` is f32[1] but the gradient `g` given for it is f32[2]"].assert_eq(&e.to_string());
    let e = ask(&["loss".into()], &[None, None]);
    expect!["error[argument]: 1 targets need as many target gradients, not 2"].assert_eq(&e.to_string());
    assert_eq!(ask(&[], &[]).kind(), Kind::Argument);
}

/// Without the operator that has no gradient.
fn differentiable() -> Program {
    let mut p = program();
    p.global_mut().ops[1].op_type = "twice".into();
    p
}

#[test]
fn gradient_operators_keep_device_and_attributes() {
    let mut p = differentiable();
    p.global_mut().ops[0].attrs.set("note", "first");
    append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap();
    let last = p.global().ops.last().unwrap();
    assert_eq!(last.attrs.get("note"), Some(&Attr::from("first")));
    assert!(p.global().ops.iter().all(|op| op.attrs.get("op_device") == Some(&Attr::from("cpu:1"))));
    assert_eq!(last.attrs.get("op_role_var"), Some(&Attr::Strings(vec!["w".into(), "w@GRAD".into()])));
}

#[test]
fn a_frozen_parameter_gets_a_gradient_only_when_asked() {
    let mut frozen = differentiable();
    frozen.global_mut().vars["w"].meta.trainable = false;
    let mut p = frozen.clone();
    assert_eq!(append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap(), []);
    assert!(p.global().var("w@GRAD").is_none());
    let asked = BackwardOptions { parameter_list: Some(vec!["w".into()]), ..options() };
    let pairs = append_backward(&mut frozen, (0, "loss"), &registry(), &asked).unwrap();
    assert_eq!(pairs, [("w".into(), "w@GRAD".into())]);
}

#[test]
fn callback_gets_each_gradient_operator() {
    let heard = RefCell::new(Vec::new());
    let after = |p: &mut Program, block: usize, grad_to_var: &std::collections::HashMap<Name, Name>| {
        let op = p.block(block).ops.last().expect("the new operator");
        let grad = op.outputs.args().next().expect("an output");
        heard.borrow_mut().push(format!("{grad} of {}", grad_to_var[grad]));
        Ok(())
    };
    let listening = BackwardOptions { after_op: Some(&after), ..options() };
    append_backward(&mut differentiable(), (0, "loss"), &registry(), &listening).unwrap();
    assert_eq!(*heard.borrow(), ["y@GRAD of y", "x@GRAD of x", "w@GRAD of w"]);
}

#[test]
fn given_gradients_count_in_a_second_pass() {
    let mut p = differentiable();
    append_backward(&mut p, (0, "loss"), &registry(), &options()).unwrap();
    p.global_mut().set_var(Var::new("g", VarType::tensor(DType::F32, vec![Dim::Is(1)])));
    let targets = GradientTargets { block: 0, names: &["loss".into()], gradients: &[Some("g".into())] };
    let found = gradients(&mut p, &targets, &["x".into()], &Default::default(), &registry()).unwrap();
    assert_eq!(found, [Some(Name::from("grad/grad/x@GRAD"))]);
    let first = p.global().ops.iter().find(|op| op.inputs.get("X") == [Name::from("g")]).expect("it is read");
    assert_eq!(first.outputs.get("Out"), [Name::from("grad/grad/y@GRAD")]);
}
