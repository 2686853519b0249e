//! The trainer's startup program: it initializes what stays with the trainer and then fetches the parameters, so that
//! all trainers start from the servers' values.

use oarlock_ir::{Dim, Name, Op, Program, Result, Role, Var, VarType};
use oarlock_tensor::DType;

use super::job::{Dummies, Job, named};
use super::trainer::{declare_blocks, join};
use super::updates::Update;
use crate::ops::{FINGERPRINT, NO_VARS, fake_init, fetch_barrier, recv, with_role};

/// Makes the startup program that belongs to a trainer's program.
pub(super) fn trainer_startup(job: &Job, trainer: &Program) -> Result<Program> {
    let mut program = job.startup.clone();
    let mut needed = named(trainer);
    needed.retain(|name| !job.remote.contains(name));
    needed.extend(unnamed(job));
    // From behind: what a kept operator reads is needed, too, such as the reader inside another one.
    let ops = std::mem::take(&mut program.global_mut().ops);
    let mut kept: Vec<Op> = Vec::new();
    for op in ops.into_iter().rev() {
        if op.outputs.args().next().is_none() || op.outputs.args().any(|out| needed.contains(out)) {
            needed.extend(op.inputs.args().cloned());
            kept.push(op);
        }
    }
    kept.reverse();
    program.global_mut().ops = kept;
    add_step_notice(job, &mut program);
    fetch_parameters(job, &mut program, &mut Dummies::default(), job.local_updates())?;
    for table in &job.remote {
        let sizes = job.var(table)?.shape.to_i64();
        program.global_mut().ops.push(with_role(fake_init(table, sizes), Role::FORWARD, NO_VARS));
    }
    let named = named(&program);
    program.global_mut().vars.retain(|name, _| named.contains(name));
    Ok(program)
}

/// Variables that no operator names, such as a learning rate that the optimizer does not read: no server has it, and saves hold it.
fn unnamed(job: &Job) -> impl Iterator<Item = Name> {
    let named = named(&job.main);
    let kept = job.main.global().vars.values().filter(|var| var.holds_values());
    kept.filter(move |var| !named.contains(&var.name)).map(|var| var.name.clone())
}

/// Fetches parameters and joins those that were partitioned.
pub(super) fn fetch_parameters<'a>(
    job: &Job,
    program: &mut Program,
    dummies: &mut Dummies,
    updates: impl Iterator<Item = &'a Update>,
) -> Result<()> {
    let mut joins = Vec::new();
    for update in updates {
        declare_blocks(job, update, program)?;
        let names = job.block_names(update);
        let op = recv(names, None, job.endpoints(update), job.trainer_attr());
        program.global_mut().ops.push(with_role(op, Role::RPC, NO_VARS));
        if job.blocks(update).len() > 1 {
            joins.push(with_role(join(job, update), Role::FORWARD, NO_VARS));
        }
    }
    let dummy = dummies.make(program);
    let op = fetch_barrier(None, vec![dummy], job.placement.servers(), job.trainer_attr())
        .attr(FINGERPRINT, job.fingerprint());
    program.global_mut().ops.push(with_role(op, Role::RPC, NO_VARS));
    program.global_mut().ops.extend(joins);
    Ok(())
}

/// Sets the notice of a step of this trainer: one step.
fn add_step_notice(job: &Job, program: &mut Program) {
    let Some(notice) = job.step_notice(job.trainer_id) else { return };
    program.global_mut().set_var(step_notice_var(&notice));
    let op = Op::new("fill_constant")
        .output("Out", [&notice])
        .attr("shape", vec![1i64])
        .attr("dtype", DType::I64.proto())
        .attr("value", 1.0f32)
        .attr("str_value", "")
        .attr("force_cpu", false);
    program.global_mut().ops.insert(0, with_role(op, Role::FORWARD, NO_VARS));
}

/// The notice of a step, as a trainer has it.
pub(super) fn step_notice_var(name: &Name) -> Var {
    let mut var = Var::new(name, VarType::tensor(DType::I64, vec![Dim::Is(1)]));
    var.persistable = true;
    var
}
