//! The zero-weight step of a rank that has no data left: it takes part in the exchanges of the others with weight 0, and makes the same
//! updates, so that its parameters stay those of all.

use std::collections::BTreeSet;

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Role, verify};

use super::collective_workers::zeros;
use super::job::empty_dead_blocks;
use crate::ops::{WEIGHT, is_exchange, waits_for_exchanges};

/// A step without data, in two parts.
#[derive(Debug)]
pub struct ZeroWeightStep {
    /// Exchanges with weight 0. Then it is known whether any rank had data.
    pub exchange: Program,
    /// Makes the update.
    pub update: Program,
    /// Is the update made even if no rank had data? Parameters that were exchanged themselves must be put back.
    pub always_update: bool,
    /// Exchanges with weight 1, for a worker that made steps since parameters were averaged last; only where they are averaged after
    /// some steps.
    pub catch_up: Option<Program>,
}

/// The step without data of a program that exchanges gradients or parameters; `None` if it exchanges nothing. Fails if it
/// exchanges something that cannot be weighted.
pub fn zero_weight_step(program: &Program) -> Result<Option<ZeroWeightStep>> {
    let (ops, sometimes) = exchanging(program);
    let ops = &ops;
    let exchanges: Vec<usize> = (0..ops.len()).filter(|i| is_exchange(&ops[*i])).collect();
    let Some(&first) = exchanges.first() else { return Ok(None) };
    if let Some(other) = exchanges.iter().map(|i| &ops[*i]).find(|op| !is_weighted(op)) {
        let name = other.inputs.args().next().map(Name::to_string).unwrap_or_default();
        let what = format!("a worker without data cannot take part in `{}` of `{name}`", other.op_type);
        return Err(Error::new(Kind::Unsupported, what)
            .help("give all workers equally many batches: pad short shards, or stop at the shortest"));
    }
    let exchanged: BTreeSet<Name> = exchanges.iter().flat_map(|i| ops[*i].inputs.args().cloned()).collect();
    let is_param = |name: &Name| program.find_var(0, name).is_some_and(|var| var.persistable);
    let parameters = ops[first].inputs.args().any(is_param);
    let settled = ops.iter().rposition(waits_for_exchanges).ok_or_else(|| {
        Error::new(Kind::Unsupported, "the program exchanges values and nothing waits for them")
            .help("transpile it with mode \"collective\"")
    })?;
    let before = |op: &Op| parameters && !is_weighted(op) && op.outputs.args().any(|out| exchanged.contains(out));
    let mut exchange: Vec<Op> = Vec::new();
    for (i, op) in ops[..=settled].iter().enumerate() {
        if exchanges.contains(&i) {
            if !parameters {
                for name in op.inputs.args() {
                    exchange.push(zeros(program, name)?);
                }
            }
            let mut op = op.clone();
            op.attrs.set(WEIGHT, 0.0f32);
            exchange.push(op);
        } else if waits_for_exchanges(op) || (before(op) && reads_snapshot(op)) {
            exchange.push(op.clone());
        }
    }
    let moves = |op: &&Op| op.role().has(Role::LR_SCHED) || op.role().has(Role::OPTIMIZE);
    let early = ops[..settled].iter().filter(|op| op.role().has(Role::LR_SCHED) && !parameters);
    let update: Vec<Op> = early.chain(ops[settled + 1..].iter().filter(moves)).cloned().collect();
    let mut catch_up = None;
    if sometimes {
        let counts = |op: &Op| {
            let mut op = op.clone();
            if is_weighted(&op) {
                op.attrs.set(WEIGHT, 1.0f32);
            }
            op
        };
        catch_up = Some(with_ops(program, exchange.iter().map(counts).collect(), &exchanged)?);
    }
    let (exchange, update) = (with_ops(program, exchange, &exchanged)?, with_ops(program, update, &exchanged)?);
    Ok(Some(ZeroWeightStep { exchange, update, always_update: parameters, catch_up }))
}

/// The operators of a step with its exchanges, and whether these are made after some steps only: in a block of their own, which
/// needs nothing but what outlives a step.
fn exchanging(program: &Program) -> (Vec<Op>, bool) {
    let ops = &program.global().ops;
    let inner = ops.iter().flat_map(Op::sub_blocks).find(|block| program.block(*block).ops.iter().any(is_exchange));
    match inner {
        Some(block) if !ops.iter().any(is_exchange) => (program.block(block).ops.clone(), true),
        _ => (ops.clone(), false),
    }
}

fn is_weighted(op: &Op) -> bool {
    matches!(op.attrs.get(WEIGHT), Some(Attr::Float(weight)) if *weight >= 0.0)
}

/// How far a parameter went from its snapshot, rather than its update.
fn reads_snapshot(op: &Op) -> bool {
    op.inputs.args().any(|name| name.ends_with("@SNAPSHOT"))
}

/// The program with these operators; what was exchanged outlives a run.
fn with_ops(program: &Program, ops: Vec<Op>, exchanged: &BTreeSet<Name>) -> Result<Program> {
    let mut program = program.clone();
    for name in exchanged {
        let mut var = program.expect_var(0, name)?.clone();
        var.persistable = true;
        program.global_mut().set_var(var);
    }
    program.global_mut().ops = ops;
    empty_dead_blocks(&mut program);
    check_inputs(&program)?;
    verify(&program, None)?;
    Ok(program)
}

/// Whatever is read must be there without data.
fn check_inputs(program: &Program) -> Result<()> {
    let mut written: BTreeSet<&Name> = BTreeSet::new();
    for op in &program.global().ops {
        let there =
            |name: &&Name| written.contains(*name) || program.find_var(0, name).is_some_and(|var| var.persistable);
        if let Some(missing) = op.inputs.args().find(|name| !there(name)) {
            let what = format!("a worker without data cannot run `{}`: `{missing}` comes from data", op.op_type);
            return Err(Error::new(Kind::Unsupported, what)
                .help("give all workers equally many batches: pad short shards, or stop at the shortest"));
        }
        written.extend(op.outputs.args());
    }
    Ok(())
}
