//! The gradient operators of a path.

use std::collections::{HashMap, HashSet};

use super::{Pass, accumulate, is_grad, prune, sub_block};
use crate::error::{Kind, Result};
use crate::grad::{Grad, grad_name};
use crate::{Name, Op, Role};

impl Pass<'_> {
    /// Appends to block `target` the gradients of the operators of `block` on the path, last first.
    ///
    /// `flowing`, for a later pass over the same program, are the gradients known so far: what they do not reach was
    /// differentiated before and is left out.
    pub(super) fn emit(
        &mut self,
        block: usize,
        path: &[usize],
        target: usize,
        mut flowing: Option<HashSet<Name>>,
    ) -> Result<()> {
        let mut ops = Vec::new();
        let mut renamed = HashMap::new();
        for &at in path.iter().rev() {
            let mut made = self.gradient_of(block, at, target)?;
            let mut to_var = self.gradient_names(block, at);
            if self.order() > 1 {
                self.rename_for_later_pass(block, at, &mut made, &mut to_var, &mut renamed);
            }
            if let Some(flowing) = &mut flowing
                && !keep_reached(&mut made, flowing)
            {
                continue;
            }
            ops.append(&mut made);
            self.grad_to_var.extend(to_var);
        }
        let mut ops = accumulate::sum_partial_gradients(ops, block);
        prune::remove_unwanted(&mut ops, &mut self.no_grad[block].grads, &self.grad_to_var);
        let forward = path.iter().map(|&at| &self.program.block(block).ops[at]);
        prune::remove_disconnected(&mut ops, forward, flowing.unwrap_or_default());
        ops.into_iter().try_for_each(|op| self.append(target, op))
    }

    pub(super) fn append(&mut self, target: usize, mut op: Op) -> Result<()> {
        op.set_role(Role::BACKWARD);
        self.program.block_mut(target).ops.push(op);
        match self.after_op {
            Some(after) => after(self.program, target, &self.grad_to_var),
            None => Ok(()),
        }
    }

    /// The gradient operators of one operator; those of its sub-block go to a block of their own.
    pub(super) fn gradient_of(&mut self, block: usize, at: usize, target: usize) -> Result<Vec<Op>> {
        let op = self.program.block(block).ops[at].clone();
        let entry = self.registry.entry(&op.op_type).map_err(|e| e.at(|| op.place(block, at)))?;
        if entry.traits.gradient_free {
            return Ok(Vec::new());
        }
        let grad_block = match sub_block(&op) {
            Some(sub) => Some(self.emit_sub_block(&op, sub, target)?),
            None => None,
        };
        let unwanted = &self.no_grad[block].grads;
        let no_grad = |grad: &str| unwanted.contains(grad);
        let mut g = Grad::new(self.program, &op, &no_grad, grad_block);
        match entry.grad(&mut g) {
            // A gradient that would flow nowhere is not needed.
            Err(e) if e.kind() == Kind::NoGradient && op.inputs.args().all(|n| no_grad(&grad_name(n))) => {
                return Ok(Vec::new());
            }
            other => other.map_err(|e| e.at(|| op.place(block, at)))?,
        }
        let mut made = g.into_ops();
        if let Some(device) = op.attrs.get("op_device") {
            made.iter_mut().for_each(|m| m.attrs.set("op_device", device.clone()));
        }
        Ok(made)
    }

    fn emit_sub_block(&mut self, op: &Op, sub: usize, target: usize) -> Result<usize> {
        let grad_block = self.add_gradient_block(sub, target);
        let path = self.path_in_sub_block(op, sub)?;
        // In a loop a gradient may come from a later turn, so everything counts as reached.
        self.emit(sub, &path, grad_block, None)?;
        Ok(grad_block)
    }

    /// The names of the gradients of an operator's arguments, with the arguments.
    pub(super) fn gradient_names(&self, block: usize, at: usize) -> HashMap<Name, Name> {
        let op = &self.program.block(block).ops[at];
        op.inputs.args().chain(op.outputs.args()).map(|n| (grad_name(n), n.clone())).collect()
    }
}

/// Keeps the gradient operators that the gradients known so far reach, and adds what they write to those; false if nothing of
/// the forward operator is reached. Operators that read no gradient undo a side effect (a counter), and the first pass did that.
fn keep_reached(made: &mut Vec<Op>, flowing: &mut HashSet<Name>) -> bool {
    let undoes = made.iter().any(|op| !op.inputs.args().any(|n| is_grad(n)));
    made.retain(|op| {
        let reached = op.inputs.args().any(|n| is_grad(n) && flowing.contains(n));
        if reached {
            flowing.extend(op.outputs.args().cloned());
        }
        reached
    });
    undoes || !made.is_empty()
}
