//! Sums where a variable receives several gradients.

use indexmap::IndexMap;

use super::rename::{rename_input, rename_output};
use super::{PARTIAL, backward_op, is_grad};
use crate::{Name, Op};

/// The gradients a variable received since they were summed last.
#[derive(Default)]
struct Partials {
    /// Their names now; a single one keeps the full name.
    names: Vec<Name>,
    /// Index of the operator that wrote the first one.
    first: usize,
    /// Number in the next partial name.
    next: usize,
}

impl Partials {
    fn partial_name(&mut self, grad: &Name, block: usize) -> Name {
        let name = format!("{grad}{PARTIAL}block{block}@{}", self.next);
        self.next += 1;
        name.into()
    }
}

/// Gives gradients that are written several times partial names, and adds a `sum` before the first operator that reads the
/// full name, or at the end. `block` is the block of the forward operators.
pub(super) fn sum_partial_gradients(mut ops: Vec<Op>, block: usize) -> Vec<Op> {
    // In the order in which gradients appear, because the sums at the end come in that order.
    let mut partials: IndexMap<Name, Partials> = IndexMap::new();
    let mut sums: Vec<(usize, Op)> = Vec::new();
    for at in 0..ops.len() {
        for grad in ops[at].inputs.args().filter(|n| is_grad(n)).cloned().collect::<Vec<_>>() {
            let p = partials.entry(grad.clone()).or_default();
            if p.names.len() > 1 {
                sums.push((at, sum(&p.names, &grad)));
                p.names = vec![grad];
            }
        }
        for (slot, i, grad) in written_gradients(&ops[at]) {
            let p = partials.entry(grad.clone()).or_default();
            if p.names.is_empty() {
                p.names.push(grad);
                p.first = at;
                continue;
            }
            if p.names.len() == 1 {
                let name = p.partial_name(&grad, block);
                rename_first(&mut ops, at, p.first, &mut sums, &grad, &name);
                rename_before(&mut ops[at], (&slot, i), &grad, &name);
                p.names[0] = name;
            }
            let name = p.partial_name(&grad, block);
            set_output(&mut ops[at], &slot, i, name.clone());
            p.names.push(name);
        }
    }
    for (grad, p) in partials.iter().filter(|(_, p)| p.names.len() > 1) {
        sums.push((ops.len(), sum(&p.names, grad)));
    }
    // From the last to the first, so that the places of those before stay right.
    for (at, op) in sums.into_iter().rev() {
        ops.insert(at, op);
    }
    ops
}

/// The gradients that an operator writes, with slot and position; not those it updates in place.
fn written_gradients(op: &Op) -> Vec<(Name, usize, Name)> {
    let mut written = Vec::new();
    for (slot, args) in op.outputs.iter() {
        for (i, grad) in args.iter().enumerate() {
            if is_grad(grad) && !op.inputs.args().any(|n| n == grad) {
                written.push((slot.clone(), i, grad.clone()));
            }
        }
    }
    written
}

/// Renames a gradient that was thought to be the only one, in all operators since it was written.
fn rename_first(ops: &mut [Op], at: usize, first: usize, sums: &mut [(usize, Op)], from: &Name, to: &Name) {
    for op in ops[first..at].iter_mut().chain(sums.iter_mut().map(|(_, op)| op)) {
        rename_input(op, from, to);
        rename_output(op, from, to);
    }
}

/// Renames a gradient in the outputs of an operator that stand before a place.
fn rename_before(op: &mut Op, (slot, i): (&Name, usize), from: &Name, to: &Name) {
    for (s, args) in op.outputs.iter_mut().take_while(|(s, _)| *s <= slot) {
        let end = if s == slot { i } else { args.len() };
        args[..end].iter_mut().filter(|n| *n == from).for_each(|n| *n = to.clone());
    }
}

fn set_output(op: &mut Op, slot: &Name, i: usize, name: Name) {
    if let Some((_, args)) = op.outputs.iter_mut().find(|(s, _)| *s == slot) {
        args[i] = name;
    }
}

fn sum(partial: &[Name], grad: &Name) -> Op {
    backward_op("sum").input("X", partial).output("Out", [grad]).attr("use_mkldnn", false)
}
