//! Which operators lead from parameters or inputs to the loss.

use std::collections::HashSet;

use super::{Pass, sub_block};
use crate::error::Result;
use crate::{Name, Op, Program, Slots};

impl Pass<'_> {
    /// The operators of `block` on the way to `reached`. Other variables that they write receive no gradient.
    pub(super) fn path_to_loss(&mut self, block: usize, reached: HashSet<Name>) -> Result<Vec<usize>> {
        let path = self.path_to(block, reached.clone(), &self.no_grad[block].vars)?;
        for name in self.dead_ends(block, &path, reached) {
            self.no_grad[block].add(&name);
        }
        Ok(path)
    }

    /// The operators of `block` on the way from `inputs` to `targets`; from anywhere if there are no inputs.
    pub(super) fn path_between(&self, block: usize, inputs: &[Name], targets: HashSet<Name>) -> Result<Vec<usize>> {
        let no_grad = &self.no_grad[block].vars;
        let mut path = self.path_to(block, targets, no_grad)?;
        if inputs.is_empty() {
            return Ok(path);
        }
        let mut influenced: HashSet<Name> = inputs.iter().cloned().collect();
        let mut on_way = HashSet::new();
        for (at, op) in self.program.block(block).ops.iter().enumerate() {
            if touches(&op.inputs, &influenced) && self.has_gradient(block, at)? {
                on_way.insert(at);
                influenced.extend(op.outputs.args().filter(|n| !no_grad.contains(*n)).cloned());
            }
        }
        path.retain(|at| on_way.contains(at));
        Ok(path)
    }

    /// The operators of the sub-block that `op` runs through which gradients flow.
    pub(super) fn path_in_sub_block(&self, op: &Op, sub: usize) -> Result<Vec<usize>> {
        let block = self.program.block(sub);
        if !self.registry.entry(&op.op_type)?.traits.branch {
            return Ok((0..block.ops.len()).collect());
        }
        let mut writers = Vec::new();
        for out in op.outputs.args() {
            writers.extend((0..block.ops.len()).filter(|&at| block.ops[at].outputs.args().any(|n| n == out)));
        }
        let read = writers.iter().flat_map(|&at| block.ops[at].inputs.args());
        let wanted = read.filter(|n| block.var(n).is_some()).cloned().collect();
        // Variables without gradients are not removed here: pruning does it when the gradient operators are there.
        let mut path = self.path_to(sub, wanted, &HashSet::new())?;
        for at in writers {
            if !path.contains(&at) {
                path.push(at);
            }
        }
        Ok(path)
    }

    fn path_to(&self, block: usize, mut reached: HashSet<Name>, no_grad: &HashSet<Name>) -> Result<Vec<usize>> {
        let mut path = Vec::new();
        for (at, op) in self.program.block(block).ops.iter().enumerate().rev() {
            if touches(&op.outputs, &reached) && self.has_gradient(block, at)? {
                path.push(at);
                reached.extend(op.inputs.args().filter(|n| !no_grad.contains(*n)).cloned());
            }
        }
        path.reverse();
        Ok(path)
    }

    fn has_gradient(&self, block: usize, at: usize) -> Result<bool> {
        let op = &self.program.block(block).ops[at];
        let entry = self.registry.entry(&op.op_type).map_err(|e| e.at(|| op.place(block, at)))?;
        Ok(!entry.traits.gradient_free)
    }

    /// Variables that operators on the path write and the loss does not depend on. It is hard to tell for what a sub-block computes,
    /// so operators with one are left alone.
    fn dead_ends(&self, block: usize, path: &[usize], mut reached: HashSet<Name>) -> Vec<Name> {
        let no_grad = &self.no_grad[block].vars;
        let block = self.program.block(block);
        let mut dead = Vec::new();
        for op in path.iter().rev().map(|&at| &block.ops[at]) {
            if sub_block(op).is_none() {
                let unused = |n: &&Name| !reached.contains(*n) && !op.inputs.args().any(|i| i == *n);
                dead.extend(op.outputs.args().filter(unused).cloned());
            }
            reached.extend(op.inputs.args().filter(|n| !no_grad.contains(*n)).cloned());
        }
        dead
    }
}

/// Is one of the arguments in the set?
fn touches(slots: &Slots, set: &HashSet<Name>) -> bool {
    slots.args().any(|n| set.contains(n))
}

/// Through which variables of `block` the targets, declared in block `home`, are reached: themselves if `block` is their
/// home; what their home reads from `block` if it lies inside; none if it lies around.
pub(super) fn seen_from(program: &Program, block: usize, home: usize, targets: HashSet<Name>) -> HashSet<Name> {
    let mut at = home;
    let mut reached = targets;
    while at != block {
        let Some(parent) = program.block(at).parent else { return HashSet::new() };
        let mut outside = HashSet::new();
        for op in program.block(at).ops.iter().rev() {
            if !touches(&op.outputs, &reached) {
                continue;
            }
            for name in op.inputs.args() {
                reached.insert(name.clone());
                if program.block(at).var(name).is_none() && program.block(parent).var(name).is_some() {
                    outside.insert(name.clone());
                }
            }
        }
        reached = outside;
        at = parent;
    }
    reached
}
