//! Equal workers that exchange parameters: each updates its own, then all move to the mean of where they went.

use oarlock_ir::{Name, Op, Program, Result, Role};

use super::grad_allreduce::wait_for_rings;
use super::job::like;
use super::updates::Updates;
use super::workers::{Workers, scale};
use crate::op::{NO_VARS, WEIGHT, collective, sync_stream, with_role};

fn snapshot(param: &Name) -> Name {
    format!("{param}@SNAPSHOT").into()
}

fn binary(op: &str, x: &Name, y: &Name, out: &Name) -> Op {
    let op = Op::new(op).input("X", [x]).input("Y", [y]).output("Out", [out]).attr("axis", -1);
    with_role(op, Role::OPTIMIZE, NO_VARS)
}

fn assign(from: &Name, to: &Name, role: Role) -> Op {
    with_role(Op::new("assign").input("X", [from]).output("Out", [to]), role, NO_VARS)
}

/// Keeps what every parameter starts from.
pub(super) fn take_snapshots(startup: &mut Program, parameters: &[Name]) -> Result<()> {
    for param in parameters {
        declare_snapshot(startup, param)?;
        startup.global_mut().ops.push(assign(param, &snapshot(param), Role::FORWARD));
    }
    Ok(())
}

fn declare_snapshot(program: &mut Program, param: &Name) -> Result<()> {
    let var = program.expect_var(0, param)?;
    let mut copy = like(var, &snapshot(param), &[], true);
    copy.shape = var.shape.clone();
    program.global_mut().set_var(copy);
    Ok(())
}

/// Rewrites the program: after an update the parameter holds how far it went, which is averaged over all workers.
pub(super) fn average_parameters(workers: &Workers, updates: &Updates, program: &mut Program) -> Result<()> {
    let mut ops = Vec::new();
    let params: Vec<Name> = updates.updates.iter().map(|u| u.param.clone()).collect();
    for (i, op) in program.global().ops.iter().enumerate() {
        ops.push(op.clone());
        let updated = updates.updates.iter().position(|u| u.ops.last() == Some(&i));
        if let Some(turn) = updated {
            let param = &params[turn];
            ops.push(binary("elementwise_sub", &snapshot(param), param, param));
            let wait = sync_stream("c_sync_calc_stream", vec![param.clone()]);
            let sum = collective("c_allreduce_sum", param, workers.ring(turn)).attr(WEIGHT, 1.0f32);
            ops.extend([wait, sum].map(|op| with_role(op, Role::OPTIMIZE, NO_VARS)));
        }
    }
    ops.extend(wait_for_rings(workers, &params));
    for param in &params {
        ops.push(scale(param, workers.share(), Role::OPTIMIZE));
        ops.push(binary("elementwise_sub", &snapshot(param), param, param));
        ops.push(assign(param, &snapshot(param), Role::OPTIMIZE));
    }
    program.global_mut().ops = ops;
    params.iter().try_for_each(|param| declare_snapshot(program, param))
}
