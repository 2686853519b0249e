//! Collective workers that average parameters (local SGD): each updates its own, then all move to the mean of these moves, after every step or
//! after some.

use oarlock_ir::{Attr, Dim, Error, Kind, Name, Op, Program, Result, Role, Var, VarKind, VarType};
use oarlock_tensor::DType;

use super::collective_workers::{Workers, scale};
use super::config::Config;
use super::grad_allreduce::wait_for_groups;
use super::job::like;
use super::updates::Updates;
use crate::ops::{NO_VARS, WEIGHT, collective, sync_stream, with_role};

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

/// Copies the values that every parameter starts from.
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
    ops.extend(wait_for_groups(workers, &params));
    for param in &params {
        ops.push(scale(param, workers.share(), Role::OPTIMIZE));
        ops.push(binary("elementwise_sub", &snapshot(param), param, param));
        ops.push(assign(param, &snapshot(param), Role::OPTIMIZE));
    }
    program.global_mut().ops = ops;
    params.iter().try_for_each(|param| declare_snapshot(program, param))
}

/// Counts the steps of a worker that averages only after some.
pub const LOCAL_STEPS: &str = "@LOCAL_SGD_STEP@";
/// Holds the count of the last step after which the worker averaged.
pub const LAST_AVERAGED: &str = "@LOCAL_SGD_LAST_STEP@";

/// After which steps parameters are averaged: each one up to `begin`, then every `every`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Averaging {
    every: usize,
    begin: usize,
}

impl Averaging {
    pub(super) fn new(config: &Config) -> Result<Averaging> {
        if config.local_sgd_k_steps == 0 {
            return Err(Error::new(Kind::Argument, "parameters cannot be averaged after every 0 steps")
                .help("k_steps is 1 or more"));
        }
        Ok(Averaging { every: config.local_sgd_k_steps, begin: config.local_sgd_begin_step })
    }

    pub(super) fn is_every_step(&self) -> bool {
        self.every == 1
    }

    /// The lines that all ranks must have in common, if they are not the usual ones.
    pub(super) fn in_common(&self) -> Option<String> {
        let text = || format!("parameters are averaged every {} steps after step {}", self.every, self.begin);
        (!self.is_every_step()).then(text)
    }
}

/// Appends to the program what averages parameters after some of its steps.
pub(super) fn average_sometimes(
    workers: &Workers,
    params: &[Name],
    when: &Averaging,
    program: &mut Program,
    startup: &mut Program,
) -> Result<()> {
    for name in [LOCAL_STEPS, LAST_AVERAGED] {
        declare(program, name, DType::I64, true);
        declare(startup, name, DType::I64, true);
        startup.global_mut().ops.push(constant(name, 0, Role::FORWARD));
    }
    params.iter().try_for_each(|param| declare_snapshot(program, param))?;
    let due = is_due(when, program);
    let body = averages(workers, params);
    let block = program.add_block(0);
    program.block_mut(block).ops = body;
    let snapshots: Vec<Name> = params.iter().map(snapshot).collect();
    let both: Vec<Name> = params.iter().chain(&snapshots).cloned().collect();
    let scope: Name = "@LOCAL_SGD_SCOPE@".into();
    program.global_mut().set_var(Var::new(&scope, VarType { kind: VarKind::StepScopes, ..number(DType::F32) }));
    let op = Op::new("conditional_block")
        .input("Cond", [&due])
        .input("Input", both.iter().cloned().chain([LOCAL_STEPS.into()]))
        .output("Out", both.iter().cloned().chain([LAST_AVERAGED.into()]))
        .output("Scope", [&scope])
        .attr("sub_block", Attr::Block(block))
        .attr("is_scalar_condition", true);
    program.global_mut().ops.push(with_role(op, Role::OPTIMIZE, NO_VARS));
    Ok(())
}

/// Counts the step; returns the variable that says whether parameters are averaged after it.
fn is_due(when: &Averaging, program: &mut Program) -> Name {
    let [begin, every, since, early, turn, due] =
        ["BEGIN", "K", "SINCE", "EARLY", "TURN", "DUE"].map(|name| Name::from(format!("@LOCAL_SGD_{name}@")));
    [&begin, &every, &since].into_iter().for_each(|name| declare(program, name, DType::I64, false));
    [&early, &turn, &due].into_iter().for_each(|name| declare(program, name, DType::Bool, false));
    let (steps, last): (Name, Name) = (LOCAL_STEPS.into(), LAST_AVERAGED.into());
    let count = Op::new("increment").input("X", [&steps]).output("Out", [&steps]).attr("step", 1.0f32);
    let ops = [
        with_role(count, Role::OPTIMIZE, NO_VARS),
        constant(&begin, when.begin, Role::OPTIMIZE),
        constant(&every, when.every, Role::OPTIMIZE),
        binary("less_equal", &steps, &begin, &early),
        binary("elementwise_sub", &steps, &last, &since),
        binary("equal", &since, &every, &turn),
        with_role(
            Op::new("logical_or").input("X", [&early]).input("Y", [&turn]).output("Out", [&due]),
            Role::OPTIMIZE,
            NO_VARS,
        ),
    ];
    program.global_mut().ops.extend(ops);
    due
}

/// Moves all parameters to the mean of where they went.
fn averages(workers: &Workers, params: &[Name]) -> Vec<Op> {
    let mut ops = Vec::new();
    for (turn, param) in params.iter().enumerate() {
        ops.push(binary("elementwise_sub", &snapshot(param), param, param));
        let sum = collective("c_allreduce_sum", param, workers.ring(turn)).attr(WEIGHT, 1.0f32);
        let wait = sync_stream("c_sync_calc_stream", vec![param.clone()]);
        ops.extend([wait, sum].map(|op| with_role(op, Role::OPTIMIZE, NO_VARS)));
    }
    ops.extend(wait_for_groups(workers, params));
    for param in params {
        ops.push(scale(param, workers.share(), Role::OPTIMIZE));
        ops.push(binary("elementwise_sub", &snapshot(param), param, param));
        ops.push(assign(param, &snapshot(param), Role::OPTIMIZE));
    }
    ops.push(assign(&LOCAL_STEPS.into(), &LAST_AVERAGED.into(), Role::OPTIMIZE));
    ops
}

fn number(dtype: DType) -> VarType {
    VarType::tensor(dtype, vec![Dim::Is(1)])
}

fn declare(program: &mut Program, name: &str, dtype: DType, persistable: bool) {
    let mut var = Var::new(name, number(dtype));
    var.persistable = persistable;
    program.global_mut().set_var(var);
}

fn constant(name: &str, value: usize, role: Role) -> Op {
    let op = Op::new("fill_constant")
        .output("Out", [&Name::from(name)])
        .attr("shape", vec![1i64])
        .attr("dtype", DType::I64.proto())
        .attr("value", value as f32)
        .attr("str_value", value.to_string())
        .attr("force_cpu", false);
    with_role(op, role, NO_VARS)
}
