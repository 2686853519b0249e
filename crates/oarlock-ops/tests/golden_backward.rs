//! The gradients of saved programs: taken away and appended again by the real operators, they must come out as they were.

use std::collections::HashSet;

use oarlock_ir::{BackwardOptions, EMPTY, Name, Op, Program, Registry, Role, append_backward, grad_name};

use crate::golden_programs;

fn is_update(op: &Op) -> bool {
    op.role().has(Role::OPTIMIZE) || op.role().has(Role::LR_SCHED)
}

fn is_gradient(op: &Op) -> bool {
    op.role().has(Role::BACKWARD)
}

fn written(program: &Program, keep: impl Fn(&Op) -> bool) -> HashSet<Name> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| keep(op));
    ops.flat_map(|op| op.outputs.args()).cloned().collect()
}

/// The program before its gradients were appended. No gradient flows into what is given, unless the saved program has one.
fn without_gradients(saved: &Program) -> Program {
    let mut program = saved.clone();
    program.blocks_mut().retain(|b| b.forward.is_none());
    program.blocks_mut().iter_mut().for_each(|b| b.ops.retain(|op| !is_gradient(op)));
    let constant = written(&program, |op| op.op_type == "fill_constant");
    let computed = written(&program, |op| op.op_type != "fill_constant");
    let with_gradient = written(saved, is_gradient);
    for block in program.blocks_mut() {
        block.ops.iter_mut().filter(|op| op.role().has(Role::LOSS)).for_each(|op| op.set_role(Role::FORWARD));
        block.vars.retain(|n, _| !n.contains("@GRAD"));
        for var in block.vars.values_mut() {
            let given = var.persistable || !computed.contains(&var.name) || constant.contains(&var.name);
            var.meta.stop_gradient = given && !with_gradient.contains(&grad_name(&var.name));
        }
    }
    program
}

fn loss_of(program: &Program) -> Option<Name> {
    let op = program.global().ops.iter().find(|op| op.role().has(Role::LOSS) && !is_gradient(op))?;
    op.outputs.args().next().cloned()
}

/// Operators as text: type, arguments and attributes, without who made them. Slots without arguments say nothing.
fn lines(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    for block in program.blocks() {
        for op in &block.ops {
            let slots = |slots: &oarlock_ir::Slots| -> Vec<String> {
                let some = slots.iter().filter(|(_, args)| args.iter().any(|a| *a != EMPTY));
                some.map(|(slot, args)| format!("{slot}: {args:?}")).collect()
            };
            let mut attrs: Vec<String> =
                op.attrs.iter().filter(|(n, _)| !n.starts_with("op_")).map(|(n, a)| format!("{n}={a:?}")).collect();
            attrs.sort();
            lines.push(format!(
                "block {} of {:?}: {} {:?} -> {:?} {attrs:?}",
                block.idx,
                block.forward,
                op.op_type,
                slots(&op.inputs),
                slots(&op.outputs)
            ));
        }
    }
    lines
}

fn check(saved: &Program, registry: &Registry) -> Result<usize, String> {
    let mut expected = saved.clone();
    expected.blocks_mut().iter_mut().for_each(|b| b.ops.retain(|op| !is_update(op)));
    let loss = loss_of(&expected).expect("a loss");
    let mut program = without_gradients(&expected);
    let options = BackwardOptions {
        parameter_list: Some(Vec::new()),
        no_grad_set: HashSet::new(),
        after_op: None,
        checkpoints: &[],
    };
    append_backward(&mut program, (0, &loss), registry, &options).map_err(|e| e.to_string())?;
    let (found, expected) = (lines(&program), lines(&expected));
    for (f, e) in found.iter().zip(&expected) {
        if f != e {
            return Err(format!("found    {f}\n  expected {e}"));
        }
    }
    if found.len() != expected.len() {
        return Err(format!("{} operators, expected {}", found.len(), expected.len()));
    }
    Ok(found.len())
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is the point")]
fn every_golden_gradient() {
    let dir = golden_programs::directory();
    let index = golden_programs::index(&dir);
    let registry = Registry::new(oarlock_ops::ops(), oarlock_ops::fusions());
    let mut failed = 0;
    for name in index.as_object().expect("an object").keys() {
        let (saved, _) = golden_programs::read(&dir, name);
        if !saved.global().ops.iter().any(is_gradient) {
            continue;
        }
        if let Err(missing) = golden_programs::check_ops(&saved, &registry) {
            oarlock_testkit::skip(&format!("gradients of {name}: {missing}"));
            continue;
        }
        let outcome = check(&saved, &registry);
        failed += usize::from(outcome.is_err());
        println!("{name:<28} {}", outcome.map_or_else(|e| format!("FAILED {e}"), |n| format!("{n} operators agree")));
    }
    assert_eq!(failed, 0, "gradients differ");
}
