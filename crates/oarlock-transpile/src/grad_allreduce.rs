//! Collective workers that all-reduce gradients: the loss is divided by their number, and every gradient is summed over all of
//! them as soon as it is complete.

use oarlock_ir::{Attr, Name, Op, Program, Result, Role};

use super::collective_workers::{Workers, check_dense, ring_id, scale};
use super::updates::Updates;
use crate::ops::{FUSE, HIERARCHICAL, NO_VARS, PROGRAM, WEIGHT, WORKERS, collective, sync_stream, with_role};

/// Joins the communication groups, and gives every worker the first one's parameters.
pub(super) fn start_workers(
    workers: &Workers,
    one_process: bool,
    startup: &mut Program,
    parameters: &[Name],
    common: &[String],
) {
    for ring in 0..workers.groups {
        join_group(workers, one_process, ring as i32, startup, common);
    }
    share_parameters(workers, startup, parameters);
}

/// Gives every worker the first one's parameters.
pub(super) fn share_parameters(workers: &Workers, startup: &mut Program, parameters: &[Name]) {
    for (turn, parameter) in parameters.iter().enumerate() {
        let op = collective("c_broadcast", parameter, workers.ring(turn)).attr("root", 0);
        startup.global_mut().ops.push(with_role(op, Role::FORWARD, NO_VARS));
    }
    for ring in 0..workers.groups {
        let op = sync_stream("c_sync_comm_stream", parameters.to_vec()).attr("ring_id", ring as i32);
        startup.global_mut().ops.push(with_role(op, Role::FORWARD, NO_VARS));
    }
}

fn join_group(workers: &Workers, one_process: bool, ring: i32, startup: &mut Program, common: &[String]) {
    let mut push = |op: Op| startup.global_mut().ops.push(with_role(op, Role::FORWARD, NO_VARS));
    if one_process {
        push(Op::new("c_comm_init_all").attr("ring_id", ring).attr(WORKERS, workers.endpoints.len() as i32));
        return;
    }
    let id: Name = format!("nccl_id_{ring}").into();
    let rank = workers.rank as i32;
    let generate = Op::new("c_gen_nccl_id")
        .output("Out", [&id])
        .attr("rank", rank)
        .attr("endpoint", workers.endpoints[workers.rank].as_str())
        .attr("other_endpoints", workers.others())
        .attr(PROGRAM, common.to_vec())
        .attr(FUSE, workers.fuse_mb)
        .attr(HIERARCHICAL, workers.hierarchical);
    let join = Op::new("c_comm_init")
        .input("X", [&id])
        .attr("nranks", workers.endpoints.len() as i32)
        .attr("rank", rank)
        .attr("ring_id", ring);
    push(generate);
    push(join);
    startup.global_mut().set_var(ring_id(&id));
}

/// Rewrites the program.
pub(super) fn allreduce_gradients(workers: &Workers, program: &mut Program) -> Result<()> {
    let mut ops = Vec::new();
    let mut turn = 0;
    let mut exchanged: Vec<Name> = Vec::new();
    let first_update = program.global().ops.iter().position(|op| op.role().has(Role::OPTIMIZE));
    for (i, op) in program.global().ops.iter().enumerate() {
        if Some(i) == first_update {
            ops.extend(wait_for_groups(workers, &exchanged));
        }
        ops.push(op.clone());
        if op.role() == Role::BACKWARD.and(Role::LOSS) {
            ops.extend(op.outputs.args().map(|loss| scale(loss, workers.share(), op.role())));
        }
        for grad in completed(op) {
            check_dense(program, &grad).map_err(|e| e.at(|| op.place(0, i)))?;
            let wait = sync_stream("c_sync_calc_stream", vec![grad.clone()]);
            let sum = collective("c_allreduce_sum", &grad, workers.ring(turn)).attr(WEIGHT, 1.0f32);
            ops.extend([wait, sum].map(|op| with_role(op, Role::BACKWARD, NO_VARS)));
            exchanged.push(grad);
            turn += 1;
        }
    }
    program.global_mut().ops = ops;
    Ok(())
}

/// The parameters that workers must start with in common: those that are updated, then those that are updated in a branch, after
/// several steps for example, and so only show by their gradients.
pub(super) fn trained(program: &Program, updates: &Updates) -> Vec<Name> {
    let mut params: Vec<Name> = updates.updates.iter().map(|update| update.param.clone()).collect();
    for (param, _) in program.global().ops.iter().flat_map(pairs) {
        if !params.contains(&param) && program.find_var(0, &param).is_some() {
            params.push(param);
        }
    }
    params
}

/// The parameters' gradients that a backward operator completes.
fn completed(op: &Op) -> Vec<Name> {
    pairs(op).into_iter().map(|(_, grad)| grad).collect()
}

/// Parameters with the gradients that a backward operator completes.
fn pairs(op: &Op) -> Vec<(Name, Name)> {
    if !op.role().has(Role::BACKWARD) {
        return Vec::new();
    }
    let Some(Attr::Strings(pairs)) = op.attrs.get("op_role_var") else { return Vec::new() };
    pairs.chunks_exact(2).map(|pair| (Name::from(pair[0].as_str()), Name::from(pair[1].as_str()))).collect()
}

/// All that was exchanged is there.
pub(super) fn wait_for_groups(workers: &Workers, exchanged: &[Name]) -> Vec<Op> {
    let wait = |ring: usize| {
        let op = sync_stream("c_sync_comm_stream", exchanged.to_vec()).attr("ring_id", ring as i32);
        with_role(op, Role::BACKWARD, NO_VARS)
    };
    (0..workers.groups).map(wait).collect()
}
