//! Declares the variables that gradient operators write.

use std::collections::HashSet;

use oarlock_tensor::DType;

use super::{Pass, forward_name, is_grad, sub_block};
use crate::build::{infer, set_types};
use crate::error::Result;
use crate::{Name, Op, Var, VarType};

impl Pass<'_> {
    /// Declares what the operators of `block` from `start` on write, with types by inference; removes operators that compute
    /// nothing, or from gradients that nothing computes. `carried` is what the operator around the block both reads and writes:
    /// gradients that one turn of a loop passes to the next, which therefore exist although they are not declared yet.
    pub(super) fn declare(&mut self, block: usize, start: usize, carried: &HashSet<Name>) -> Result<()> {
        let mut at = start;
        while let Some(op) = self.program.block(block).ops.get(at).cloned() {
            if let Some(sub) = sub_block(&op) {
                let reads: HashSet<Name> = op.inputs.args().cloned().collect();
                let carried = op.outputs.args().filter(|n| reads.contains(*n)).cloned().collect();
                self.declare(sub, 0, &carried)?;
            }
            if self.is_idle(block, &op, carried)? {
                self.program.block_mut(block).ops.remove(at);
            } else {
                self.declare_outputs(block, &op).map_err(|e| e.at(|| op.place(block, at)))?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Does the operator compute nothing, or from gradients that nothing computes?
    fn is_idle(&self, block: usize, op: &Op, carried: &HashSet<Name>) -> Result<bool> {
        if op.outputs.args().next().is_none() {
            return Ok(true);
        }
        let mut grads = op.inputs.args().filter(|n| is_grad(n)).peekable();
        if grads.peek().is_none() || grads.any(|n| carried.contains(n) || self.program.resolve(block, n).is_some()) {
            return Ok(false);
        }
        Ok(!self.registry.entry(&op.op_type)?.traits.handed_in)
    }

    fn declare_outputs(&mut self, block: usize, op: &Op) -> Result<()> {
        let mut new = Vec::new();
        for name in op.outputs.args() {
            if self.program.resolve(block, name).is_some() {
                continue;
            }
            let unknown = VarType::tensor(DType::F32, Vec::new());
            self.program.block_mut(block).set_var(Var::new(name, unknown));
            if let Some(var) = self.grad_to_var.get(name) {
                self.found.insert(var.clone(), (name.clone(), block));
            }
            new.push(name);
        }
        let types = self.infer_if_declared(block, op)?;
        let inferred: HashSet<Name> = types.iter().map(|(n, _)| n.clone()).collect();
        set_types(self.program, block, types);
        for name in new {
            self.take_forward_type(block, name, inferred.contains(name));
        }
        Ok(())
    }

    /// The types of the operator's outputs; none if it reads a gradient that is computed only while the program runs.
    fn infer_if_declared(&self, block: usize, op: &Op) -> Result<Vec<(Name, VarType)>> {
        if op.inputs.args().any(|n| self.program.resolve(block, n).is_none()) {
            return Ok(Vec::new());
        }
        infer(self.program, block, op, self.registry)
    }

    /// Gives a gradient the dtype and shape of its variable; what else inference found stays.
    fn take_forward_type(&mut self, block: usize, grad: &Name, inferred: bool) {
        let forward = self.program.find_var(block, forward_name(grad, &self.grad_to_var));
        let Some(forward) = forward.filter(|v| v.name != *grad).cloned() else { return };
        if let Some(var) = self.program.find_var_mut(block, grad) {
            var.dtype = forward.dtype;
            var.shape = forward.shape;
            if !inferred {
                var.kind = forward.kind;
                var.lod_level = forward.lod_level;
            }
        }
    }
}
