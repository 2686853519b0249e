//! Backward passes of the saved programs of real networks: their gradients are taken away and computed again.

use std::collections::HashSet;

use oarlock_ir::{Attr, BackwardOptions, Name, Op, Program, Role, append_backward, grad_name};

use crate::case::{ops_as_text, vars_as_text};
use crate::support::{committed, every_program};
use crate::{assert_same_lines, operators, options};

fn check(name: &str) {
    check_program(&Program::from_bytes(&committed(name)).unwrap());
}

fn check_program(saved: &Program) {
    let mut expected = saved.clone();
    keep_ops(&mut expected, |op| !is_update(op));
    keep_recorded_attrs(&mut expected);
    let parameters = noted_parameters(&expected);
    let (mut program, loss) = without_gradients(&expected, &parameters);
    let options = BackwardOptions { parameter_list: Some(parameters), ..options() };
    append_backward(&mut program, (0, &loss), &operators::registry(), &options).unwrap();
    assert_same_lines(&ops_as_text(&program), &ops_as_text(&expected));
    // Optimizers declare variables too, and operators of this test do not infer LoD or what they do not differentiate.
    keep_gradients(&mut program);
    keep_gradients(&mut expected);
    assert_same_lines(&vars_as_text(&program), &vars_as_text(&expected));
}

fn is_update(op: &Op) -> bool {
    op.role().has(Role::OPTIMIZE) || op.role().has(Role::LR_SCHED)
}

fn is_gradient(op: &Op) -> bool {
    op.role().has(Role::BACKWARD)
}

fn keep_ops(program: &mut Program, keep: impl Fn(&Op) -> bool) {
    program.blocks_mut().iter_mut().for_each(|b| b.ops.retain(&keep));
}

fn keep_gradients(program: &mut Program) {
    let written = written(program, |_| true);
    program.blocks_mut().iter_mut().for_each(|b| b.vars.retain(|n, _| n.contains("@GRAD") && written.contains(n)));
}

fn keep_recorded_attrs(program: &mut Program) {
    for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        let recorded = op.attrs.iter().filter(|a| crate::case::is_recorded(op, a));
        op.attrs = recorded.map(|(n, a)| (n.clone(), a.clone())).collect();
    }
}

/// The program before gradients were appended, and its loss. What files do not hold is found again: no gradient flows into
/// what is fed, kept or a constant, unless the saved program has one.
fn without_gradients(full: &Program, parameters: &[Name]) -> (Program, Name) {
    let mut program = full.clone();
    keep_ops(&mut program, |op| !is_gradient(op));
    program.blocks_mut().retain(|b| b.forward.is_none());
    let mut ops = program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops);
    let loss_op = ops.find(|op| op.role().has(Role::LOSS)).expect("a loss");
    loss_op.set_role(Role::FORWARD);
    let loss = loss_op.outputs.args().next().expect("an output").clone();
    let (computed, with_gradient) = (written(&program, |op| !is_constant(op)), written(full, |_| true));
    let constant = written(&program, is_constant);
    for block in program.blocks_mut() {
        block.vars.retain(|n, _| !n.contains("@GRAD"));
        for var in block.vars.values_mut() {
            var.meta.is_parameter = parameters.contains(&var.name);
            let given = var.persistable || !computed.contains(&var.name) || constant.contains(&var.name);
            let source = given && !var.meta.is_parameter;
            var.meta.stop_gradient = source && !with_gradient.contains(&grad_name(&var.name));
        }
    }
    (program, loss)
}

fn is_constant(op: &Op) -> bool {
    op.op_type == "fill_constant"
}

/// Returns the variables that operators write which satisfy a condition.
fn written(program: &Program, condition: impl Fn(&Op) -> bool) -> HashSet<Name> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| condition(op));
    ops.flat_map(|op| op.outputs.args()).cloned().collect()
}

/// The parameters whose gradients are noted. Each is put in front of those before it, hence the order.
fn noted_parameters(program: &Program) -> Vec<Name> {
    let mut found = Vec::new();
    for op in program.global().ops.iter().filter(|op| is_gradient(op)) {
        if let Some(Attr::Strings(noted)) = op.attrs.get("op_role_var") {
            found.extend(noted.chunks(2).rev().map(|pair| Name::from(pair[0].as_str())));
        }
    }
    found
}

#[test]
fn linear_regression() {
    check("fit_a_line.main");
}

#[test]
fn perceptron() {
    check("mnist_mlp.main");
}

#[test]
fn convolutions() {
    check("lenet_bn.main");
}

#[test]
fn shared_sparse_table() {
    check("ctr_dnn_sgd.main");
}

#[test]
fn loop_over_arrays() {
    check("while_sum_arrays.main");
}

#[test]
fn two_branches() {
    check("ifelse.main");
}

/// Why a program cannot be checked, if so.
fn obstacle(program: &Program) -> Option<String> {
    let registry = operators::registry();
    for op in program.blocks().iter().flat_map(|b| &b.ops).filter(|op| !is_update(op)) {
        // Of pooling, the table knows the form without indices.
        let known = registry.get(&op.op_type).is_some() && op.inputs.get("MaxIndex").is_empty();
        if !known || op.role().has(Role::RPC) || op.role().has(Role::DIST) {
            return Some(format!("it has `{}`", op.op_type));
        }
    }
    let gradients_end = program.global().ops.iter().rposition(is_gradient);
    let network_end = program.global().ops.iter().rposition(|op| !is_gradient(op) && !is_update(op));
    (network_end > gradients_end).then(|| "it was extended after its gradients were appended".into())
}

#[test]
fn every_program_with_a_loss() {
    let mut checked = 0;
    for (name, bytes) in every_program() {
        let program = Program::from_bytes(&bytes).unwrap();
        if !program.global().ops.iter().any(|op| is_gradient(op) && op.role().has(Role::LOSS)) {
            continue;
        }
        match obstacle(&program) {
            Some(why) => eprintln!("skipped: {name}: {why}"),
            None => {
                eprintln!("{name}");
                check_program(&program);
                checked += 1;
            }
        }
    }
    assert!(checked >= 6, "only {checked} programs were checked");
}
