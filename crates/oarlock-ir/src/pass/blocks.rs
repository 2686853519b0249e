//! Removing blocks and variables that nothing refers to any more; shared by the passes that remove operators.
//! The programs here are verified: blocks that are referred to exist and stand inside each other.

use std::collections::BTreeSet;

use crate::{Attr, Name, Op, Program};

/// Which blocks are reachable: block 0, and the blocks that operators of reachable blocks refer to.
pub(super) fn reachable(program: &Program) -> Vec<bool> {
    inside(program, vec![0])
}

/// Which blocks belong to an operator, however deep.
pub(super) fn inside_op(program: &Program, op: &Op) -> Vec<bool> {
    inside(program, op.sub_blocks())
}

fn inside(program: &Program, mut todo: Vec<usize>) -> Vec<bool> {
    let mut reached = vec![false; program.blocks().len()];
    while let Some(idx) = todo.pop() {
        if !std::mem::replace(&mut reached[idx], true) {
            todo.extend(program.block(idx).ops.iter().flat_map(Op::sub_blocks));
        }
    }
    reached
}

/// Removes the blocks that are not kept, and numbers the others anew. Nothing that stays may refer to what goes, except
/// a block of gradients to the block it differentiates.
pub(super) fn retain_blocks(program: &mut Program, keep: &[bool]) {
    let mut next = 0..;
    let new_idx: Vec<Option<usize>> = keep.iter().map(|k| if *k { next.next() } else { None }).collect();
    // A reference to a block that goes cannot be, as said above; it would stay as it is for the verifier to find.
    let renumber = |idx: usize| new_idx[idx].unwrap_or(idx);
    let blocks = program.blocks_mut();
    blocks.retain(|b| keep[b.idx]);
    for block in blocks {
        block.idx = renumber(block.idx);
        block.parent = block.parent.map(renumber);
        block.forward = block.forward.and_then(|f| new_idx[f]);
        for (_, attr) in block.ops.iter_mut().flat_map(|op| op.attrs.iter_mut()) {
            renumber_attr(attr, renumber);
        }
    }
}

fn renumber_attr(attr: &mut Attr, renumber: impl Fn(usize) -> usize) {
    match attr {
        Attr::Block(b) => *b = renumber(*b),
        Attr::Blocks(list) => list.iter_mut().for_each(|b| *b = renumber(*b)),
        _ => {}
    }
}

/// Removes the variables that no operator names.
pub(super) fn drop_unused_vars(program: &mut Program) {
    let mut used = vec![BTreeSet::new(); program.blocks().len()];
    for block in program.blocks() {
        for name in block.ops.iter().flat_map(arguments) {
            if let Some(owner) = program.resolve(block.idx, &name) {
                used[owner].insert(name);
            }
        }
    }
    for (block, used) in program.blocks_mut().iter_mut().zip(used) {
        block.vars.retain(|name, _| used.contains(name));
    }
}

/// Everything an operator reads or writes.
fn arguments(op: &Op) -> Vec<Name> {
    reads(op).chain(op.outputs.args().cloned()).collect()
}

/// Everything an operator itself reads: its inputs, and (in newer releases) attributes that are variables.
pub(super) fn reads(op: &Op) -> impl Iterator<Item = Name> {
    let attrs = op.attrs.iter().flat_map(|(_, attr)| match attr {
        Attr::Var(name) => vec![name.clone()],
        Attr::Vars(names) => names.clone(),
        _ => Vec::new(),
    });
    op.inputs.args().cloned().chain(attrs)
}
