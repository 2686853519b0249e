//! Names of gradients when a program is differentiated more than once.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::{Pass, is_grad};
use crate::{Attr, Name, Op, Program};

impl Pass<'_> {
    /// In a later pass, gives gradients whose names an earlier pass took the prefix `grad/`, once for each pass so far.
    /// `renamed` remembers them for the operators that follow; `to_var` maps gradients to their variables.
    pub(super) fn rename_for_later_pass(
        &self,
        block: usize,
        at: usize,
        made: &mut [Op],
        to_var: &mut HashMap<Name, Name>,
        renamed: &mut HashMap<Name, Name>,
    ) {
        let block = self.program.block(block);
        let forward = &block.ops[at];
        // A variable that the forward operator reads or writes is meant, even if it is a gradient of the earlier pass.
        let meant: HashSet<&Name> = forward.inputs.args().chain(forward.outputs.args()).collect();
        for op in made {
            for name in op.inputs.args().cloned().collect::<Vec<_>>() {
                if let Some(new) = renamed.get(&name).filter(|_| !meant.contains(&name)) {
                    rename_input(op, &name, new);
                }
            }
            for name in op.outputs.args().cloned().collect::<Vec<_>>() {
                if !is_grad(&name) || block.var(&name).is_none() {
                    continue;
                }
                let new = Name::from(format!("{}{name}", "grad/".repeat(self.order())));
                rename_output(op, &name, &new);
                if let Some(var) = to_var.remove(&name) {
                    to_var.insert(new.clone(), var);
                }
                renamed.insert(name, new);
            }
        }
    }

    /// Gives gradients written from `start` on whose names are still taken a number. `new_names` holds gradients that the user
    /// provides under another name.
    pub(super) fn avoid_taken_names(&mut self, block: usize, start: usize, mut new_names: IndexMap<Name, Name>) {
        for at in start..self.program.block(block).ops.len() {
            let mut op = self.program.block(block).ops[at].clone();
            for name in op.inputs.args().cloned().collect::<Vec<_>>() {
                if let Some(new) = new_names.get(&name) {
                    rename_input(&mut op, &name, new);
                }
            }
            for name in op.outputs.args().cloned().collect::<Vec<_>>() {
                if is_grad(&name) && self.program.block(block).var(&name).is_some() {
                    let new = free_name(self.program, block, &name, &new_names);
                    rename_output(&mut op, &name, &new);
                    new_names.insert(name, new);
                }
            }
            self.program.block_mut(block).ops[at] = op;
        }
        for (old, new) in new_names {
            if let Some(var) = self.grad_to_var.remove(&old) {
                self.grad_to_var.insert(new, var);
            }
        }
    }
}

/// `name_0`, or with the first unused number.
fn free_name(program: &Program, block: usize, name: &Name, given: &IndexMap<Name, Name>) -> Name {
    let taken = |n: &Name| program.resolve(block, n).is_some() || given.values().any(|g| g == n);
    // The numbers do not end before the names in use do.
    let mut numbered = (0..).map(|i| Name::from(format!("{name}_{i}")));
    numbered.find(|n| !taken(n)).unwrap_or_else(|| name.clone())
}

/// Replaces an input, in `op_role_var` too.
pub(super) fn rename_input(op: &mut Op, from: &Name, to: &Name) {
    op.inputs.rename(from, to);
    rename_noted(op, from, to);
}

/// Replaces an output, in `op_role_var` too.
pub(super) fn rename_output(op: &mut Op, from: &Name, to: &Name) {
    op.outputs.rename(from, to);
    rename_noted(op, from, to);
}

fn rename_noted(op: &mut Op, from: &Name, to: &Name) {
    for (name, value) in op.attrs.iter_mut() {
        if let ("op_role_var", Attr::Strings(noted)) = (name.as_str(), value) {
            noted.iter_mut().filter(|n| **n == **from).for_each(|n| *n = to.to_string());
        }
    }
}
