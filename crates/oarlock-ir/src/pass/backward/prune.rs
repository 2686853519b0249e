//! Drops gradient operators that are not needed.

use std::collections::{HashMap, HashSet};

use super::{backward_op, forward_name, is_grad};
use crate::{Name, Op, Slots};

/// All arguments, `@EMPTY@` included: an unwanted output still makes an operator different from one without outputs.
fn all_args(slots: &Slots) -> impl Iterator<Item = &Name> {
    slots.iter().flat_map(|(_, args)| args)
}

/// Removes operators that write, or read, only unwanted gradients; an unwanted gradient that a remaining operator
/// reads becomes zeros. Gradients that follow from removed operators are unwanted, too.
pub(super) fn remove_unwanted(ops: &mut Vec<Op>, unwanted: &mut HashSet<Name>, grad_to_var: &HashMap<Name, Name>) {
    ops.retain(|op| !is_unwanted(op, unwanted));
    let mut result = Vec::with_capacity(ops.len());
    for op in ops.drain(..) {
        for grad in op.inputs.args().filter(|n| is_grad(n) && unwanted.contains(*n)) {
            let forward = forward_name(grad, grad_to_var);
            result.push(backward_op("fill_zeros_like").input("X", [forward]).output("Out", [grad]));
        }
        result.push(op);
    }
    *ops = result;
}

fn is_unwanted(op: &Op, unwanted: &mut HashSet<Name>) -> bool {
    if all_args(&op.outputs).all(|n| unwanted.contains(n)) {
        return true;
    }
    let mut grads = op.inputs.args().filter(|n| is_grad(n)).peekable();
    let from_unwanted = grads.peek().is_some() && grads.all(|n| unwanted.contains(n));
    if from_unwanted {
        unwanted.extend(all_args(&op.outputs).cloned());
    }
    from_unwanted
}

/// Removes operators that start from nothing the forward operators, or `known` gradients, provide, together with all that
/// follows from them, if that is connected with nothing else.
pub(super) fn remove_disconnected<'a>(
    ops: &mut Vec<Op>,
    forward: impl Iterator<Item = &'a Op>,
    mut known: HashSet<Name>,
) {
    for op in forward {
        known.extend(all_args(&op.inputs).chain(all_args(&op.outputs)).cloned());
    }
    let graph = Graph::new(ops);
    let mut drop = HashSet::new();
    for (at, op) in ops.iter().enumerate() {
        if !all_args(&op.inputs).any(|n| known.contains(n)) {
            drop.extend(graph.island(at).unwrap_or_default());
        }
        known.extend(all_args(&op.outputs).cloned());
    }
    // All of them: then the whole gradient hangs on one such operator, as when the loss is a plain `scale`.
    if drop.len() < ops.len() {
        let mut at = 0..;
        ops.retain(|_| at.next().is_some_and(|at| !drop.contains(&at)));
    }
}

/// Which operator reads which value. A name that is written again is another value.
struct Graph {
    /// Values each operator reads.
    reads: Vec<Vec<usize>>,
    /// Values each operator writes.
    writes: Vec<Vec<usize>>,
    /// Operators that read each value.
    readers: Vec<Vec<usize>>,
}

impl Graph {
    fn new(ops: &[Op]) -> Graph {
        let mut g = Graph { reads: Vec::new(), writes: Vec::new(), readers: Vec::new() };
        let mut latest: HashMap<&Name, usize> = HashMap::new();
        for (at, op) in ops.iter().enumerate() {
            let mut reads = Vec::new();
            for name in all_args(&op.inputs) {
                let value = *latest.entry(name).or_insert_with(|| g.add_value());
                g.readers[value].push(at);
                reads.push(value);
            }
            let mut writes = Vec::new();
            for name in all_args(&op.outputs) {
                let value = g.add_value();
                latest.insert(name, value);
                writes.push(value);
            }
            g.reads.push(reads);
            g.writes.push(writes);
        }
        g
    }

    fn add_value(&mut self) -> usize {
        self.readers.push(Vec::new());
        self.readers.len() - 1
    }

    /// The operator and all that follow from it, if each of them reads nothing else.
    fn island(&self, start: usize) -> Option<Vec<usize>> {
        let mut ready: HashSet<usize> = self.reads[start].iter().copied().collect();
        let mut found = vec![start];
        let mut next = 0;
        while let Some(&at) = found.get(next) {
            next += 1;
            if self.reads[at].is_empty() || !self.reads[at].iter().all(|v| ready.contains(v)) {
                return None;
            }
            for &value in &self.writes[at] {
                found.extend(&self.readers[value]);
                ready.insert(value);
            }
        }
        Some(found)
    }
}
