//! The passes that make a program ready to be planned, and the fusions that follow them.
//!
//! They work on a copy of the program. `oarlock::pipeline`, the one list of everything that runs when a program is compiled, says what
//! each is for and why it stands where it does.

use std::collections::HashSet;

use oarlock_ir::{
    EMPTY, Error, FuseBlock, GRAD, Kind, Name, Op, PassRun, Program, Result, Shape, Var, VarKind, VarType,
};
use oarlock_tensor::DType;

use super::FeedSlot;
use crate::executor::ExecOptions;

/// A pass of every compilation; it knows what is fed.
type Pass = fn(&mut Program, &[FeedSlot], &ExecOptions) -> Result<()>;

/// The passes of every compilation, in the order in which they run.
pub(super) const PASSES: &[(&str, Pass)] = &[
    ("drop_ports", drop_ports),
    ("drop_fed_reads", drop_fed_reads),
    ("declare_gradients", declare_gradients),
    // `cargo xtask new pass` puts others here.
];

/// The names of the passes of every compilation, in the order in which they run. Fusions follow.
pub fn plan_passes() -> Vec<&'static str> {
    PASSES.iter().map(|(name, _)| *name).collect()
}

/// Drops the operators that stand for feeding and fetching: the executor does that by name.
fn drop_ports(program: &mut Program, _: &[FeedSlot], options: &ExecOptions) -> Result<()> {
    let is_port = |op: &Op| options.registry.traits(&op.op_type).port.is_some();
    program.global_mut().ops.retain(|op| !is_port(op));
    Ok(())
}

/// Drops operators that take a batch from a reader of which everything is fed instead: a feed comes first.
fn drop_fed_reads(program: &mut Program, feeds: &[FeedSlot], _: &ExecOptions) -> Result<()> {
    if feeds.is_empty() {
        return Ok(());
    }
    let fed = |name: &Name| feeds.iter().any(|f| f.name == *name);
    let block = program.global();
    let is_reader = |name: &Name| block.var(name).is_some_and(|v| v.kind == VarKind::Reader);
    let mut dropped = HashSet::new();
    for (i, op) in block.ops.iter().enumerate() {
        if !op.inputs.args().any(is_reader) || !op.outputs.args().any(fed) {
            continue;
        }
        if let Some(unfed) = op.outputs.args().find(|name| !fed(name)) {
            let what = format!("a reader gives `{unfed}`, but only some of what it gives is fed");
            let help = format!("feed `{unfed}`, too, or nothing of what the reader gives");
            return Err(Error::new(Kind::Argument, what).help(help).at(|| op.place(0, i)));
        }
        dropped.insert(i);
    }
    let mut at = 0..;
    program.global_mut().ops.retain(|_| at.next().is_none_or(|i| !dropped.contains(&i)));
    Ok(())
}

/// Declares the gradients that blocks of gradients, and the operators that run them, read and nothing computes: Fluid leaves them
/// undeclared, and the operator takes them as zero.
fn declare_gradients(program: &mut Program, _: &[FeedSlot], _: &ExecOptions) -> Result<()> {
    let mut missing = Vec::new();
    for block in program.blocks() {
        let readers = block.ops.iter().filter(|op| block.forward.is_some() || !op.sub_blocks().is_empty());
        let grads = readers.flat_map(|op| op.inputs.iter()).filter(|(slot, _)| slot.ends_with(GRAD));
        let unknown = |n: &&Name| **n != EMPTY && program.resolve(block.idx, n).is_none();
        missing.extend(grads.flat_map(|(_, args)| args).filter(unknown).map(|n| (block.idx, n.clone())));
    }
    for (block, name) in missing {
        program.block_mut(block).set_var(Var::new(name, VarType::tensor(DType::F32, Shape::default())));
    }
    Ok(())
}

/// Applies the fusions of the registry, in its order. No fusion may do without the variables `needed`.
pub(super) fn fuse(
    program: &mut Program,
    needed: &HashSet<Name>,
    options: &ExecOptions,
    passes: &mut PassRun<'_>,
) -> Result<()> {
    // The nan check names the operator the user wrote, so nothing may stand for several. And blocks with sub-blocks keep their
    // operators: what a loop saves for its gradient is chosen by name.
    if !options.fuse || options.check_nan_inf || program.blocks().len() > 1 {
        return Ok(());
    }
    let persistable: HashSet<Name> =
        program.global().vars.values().filter(|v| v.persistable).map(|v| v.name.clone()).collect();
    let is_root = |name: &str| needed.contains(name) || persistable.contains(name);
    for fusion in options.registry.fusions() {
        if options.without_fusions.iter().any(|n| n == fusion.name()) {
            continue;
        }
        passes.run(fusion.name(), program, |program| {
            let mut g = FuseBlock::new(program.global_mut(), &is_root);
            let done = fusion.apply(&mut g);
            g.finish();
            done
        })?;
    }
    Ok(())
}
