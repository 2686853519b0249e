//! Recomputation: gradients that keep only checkpoints of the forward pass and compute the rest again, piece by piece.
//!
//! A segment is the part of the path from what reads one checkpoint to what writes the next. When the gradients of a segment are
//! due, its operators are repeated on variables `<name>.subprog_<n>`; the originals are then free after the forward pass. What
//! crosses the borders of segments, and what cannot be repeated, is kept.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use oarlock_tensor::DType;

use super::{Pass, accumulate, prune, sub_block};
use crate::error::{Error, Kind, Result};
use crate::{Attr, Dim, Name, Op, Role, Var, VarType, fail};

/// Where on the path a variable is read and written.
#[derive(Default)]
struct Uses {
    reads: Vec<usize>,
    writes: Vec<usize>,
}

impl Pass<'_> {
    /// Makes the random operators on a path repeatable. Operators that are inserted for it move the path.
    pub(super) fn prepare_to_recompute(&mut self, paths: Vec<(usize, Vec<usize>)>) -> Result<Vec<(usize, Vec<usize>)>> {
        let mut moved = Vec::new();
        for (block, path) in paths {
            if block != 0 {
                fail!(Kind::Unsupported, "checkpoints work in block 0 only, but the loss is in block {block}");
            }
            moved.push((block, self.fix_seeds(path)?));
        }
        Ok(moved)
    }

    /// Gives every random operator that can have one a variable with its seed; it is drawn once and used twice.
    fn fix_seeds(&mut self, path: Vec<usize>) -> Result<Vec<usize>> {
        let mut moved = Vec::with_capacity(path.len());
        let mut inserted = 0;
        for at in path {
            let at = at + inserted;
            let op = &self.program.block(0).ops[at];
            let slot = self.registry.entry(&op.op_type)?.traits.seed_slot;
            match slot.filter(|slot| op.inputs.get(slot).is_empty()) {
                Some(slot) => {
                    self.insert_seed(at, slot);
                    inserted += 1;
                    moved.push(at + 1);
                }
                None => moved.push(at),
            }
        }
        Ok(moved)
    }

    /// Inserts an operator before `at` that sets the seed of the operator there.
    fn insert_seed(&mut self, at: usize, slot: &str) {
        let name = self.free_seed_name();
        let block = self.program.block_mut(0);
        let op = &mut block.ops[at];
        let fixed = matches!(op.attrs.remove("fix_seed"), Some(Attr::Bool(true)));
        let seed = match op.attrs.remove("seed") {
            Some(Attr::Int(seed)) if fixed => seed,
            _ => 0,
        };
        op.inputs.set(slot, vec![name.clone()]);
        let mut draw = Op::new("seed").output("Out", [&name]).attr("seed", seed).attr("op_device", "");
        draw.set_role(Role::FORWARD);
        draw.site = op.site.clone();
        block.ops.insert(at, draw);
        block.set_var(Var::new(name, VarType::tensor(DType::I32, vec![Dim::Is(1)])));
    }

    fn free_seed_name(&self) -> Name {
        // The numbers do not end before the names in use do.
        let mut names = (0..).map(|i| Name::from(format!("seed_{i}.tmp_0")));
        names.find(|n| self.program.resolve(0, n).is_none()).unwrap_or_else(|| "seed".into())
    }

    /// Appends the gradients of the operators on the path, last first, each segment repeated before its gradients.
    pub(super) fn emit_recomputing(&mut self, path: &[usize], checkpoints: &[Name]) -> Result<()> {
        let forward: Vec<Op> = path.iter().map(|&at| self.program.block(0).ops[at].clone()).collect();
        refuse_sub_blocks(path, &forward)?;
        let uses = uses(&forward);
        let segments = segments(&uses, checkpoints);
        let kept = self.kept(&forward, &uses, &segments, checkpoints)?;

        let mut ops = Vec::new();
        let mut renamed = HashMap::new();
        let mut end = path.len();
        for (i, segment) in segments.iter().rev().enumerate() {
            self.gradients_of(&path[segment.end..end], &HashMap::new(), &mut ops)?;
            let repeated = &forward[segment.clone()];
            self.rename_temporaries(repeated, &kept, i, &mut renamed);
            ops.extend(repeated.iter().filter_map(|op| self.repeat(op, &kept, i, &renamed)));
            self.gradients_of(&path[segment.clone()], &renamed, &mut ops)?;
            end = segment.start;
        }
        self.gradients_of(&path[..end], &HashMap::new(), &mut ops)?;

        let mut ops = accumulate::sum_partial_gradients(ops, 0);
        prune::remove_unwanted(&mut ops, &mut self.no_grad[0].grads, &self.grad_to_var);
        ops.into_iter().try_for_each(|op| self.append(0, op))
    }

    /// The gradients of operators, last first; they read repeated variables under their new names.
    fn gradients_of(&mut self, path: &[usize], renamed: &HashMap<Name, Name>, ops: &mut Vec<Op>) -> Result<()> {
        for &at in path.iter().rev() {
            let mut made = self.gradient_of(0, at, 0)?;
            for slots in made.iter_mut().flat_map(|op| [&mut op.inputs, &mut op.outputs]) {
                for name in slots.iter_mut().flat_map(|(_, args)| args) {
                    *name = renamed.get(name).unwrap_or(name).clone();
                }
            }
            ops.append(&mut made);
            let to_var = self.gradient_names(0, at);
            self.grad_to_var.extend(to_var);
        }
        Ok(())
    }

    /// Variables that stay in memory: checkpoints, inputs, those that cross the borders of segments, and what would come out otherwise if it
    /// were computed again.
    fn kept(
        &self,
        forward: &[Op],
        uses: &HashMap<Name, Uses>,
        segments: &[Range<usize>],
        checkpoints: &[Name],
    ) -> Result<HashSet<Name>> {
        let mut kept: HashSet<Name> = checkpoints.iter().cloned().collect();
        #[expect(clippy::iter_over_hash_type, reason = "the order does not matter: a set is filled")]
        for (name, u) in uses {
            if u.writes.is_empty() {
                kept.insert(name.clone());
            }
            for s in segments {
                let leaves = u.writes.iter().any(|at| s.contains(at)) && u.reads.iter().any(|at| *at >= s.end);
                let enters = u.reads.iter().any(|at| s.contains(at)) && u.writes.iter().any(|at| *at < s.start);
                if leaves || enters {
                    kept.insert(name.clone());
                }
            }
        }
        for op in forward {
            let traits = self.registry.entry(&op.op_type)?.traits;
            if traits.random && traits.seed_slot.is_none() {
                kept.extend(op.outputs.args().cloned());
            }
        }
        Ok(kept)
    }

    fn is_persistable(&self, name: &Name) -> bool {
        self.program.find_var(0, name).is_some_and(|v| v.persistable)
    }

    /// Finds names for what the `i`th segment from the end computes again.
    fn rename_temporaries(&self, ops: &[Op], kept: &HashSet<Name>, i: usize, renamed: &mut HashMap<Name, Name>) {
        for name in ops.iter().flat_map(|op| op.inputs.args().chain(op.outputs.args())) {
            if !kept.contains(name) && !self.is_persistable(name) {
                renamed.entry(name.clone()).or_insert_with(|| again(name, i));
            }
        }
    }

    /// The operator once more, unless all it computes is there still.
    ///
    /// Unlike in Fluid, what it updates besides (the statistics of a batch norm) is not updated twice: that result goes to a
    /// temporary.
    fn repeat(&self, op: &Op, kept: &HashSet<Name>, i: usize, renamed: &HashMap<Name, Name>) -> Option<Op> {
        if op.outputs.args().all(|n| kept.contains(n) || self.is_persistable(n)) {
            return None;
        }
        let mut op = op.clone();
        for name in op.inputs.iter_mut().flat_map(|(_, args)| args) {
            *name = renamed.get(name).unwrap_or(name).clone();
        }
        for name in op.outputs.iter_mut().flat_map(|(_, args)| args) {
            *name = match renamed.get(name) {
                Some(new) => new.clone(),
                None if self.is_persistable(name) => again(name, i),
                None => continue,
            };
        }
        Some(op)
    }
}

/// The name under which the `i`th segment from the end computes a variable again.
fn again(name: &Name, i: usize) -> Name {
    format!("{name}.subprog_{i}").into()
}

fn refuse_sub_blocks(path: &[usize], forward: &[Op]) -> Result<()> {
    for (at, op) in path.iter().zip(forward) {
        if sub_block(op).is_some() {
            let what = format!("`{}` runs a block of its own, which cannot be computed again", op.op_type);
            return Err(Error::new(Kind::Unsupported, what)
                .help("minimize without checkpoints, or keep control flow out of the loss")
                .at(|| op.place(0, *at)));
        }
    }
    Ok(())
}

fn uses(forward: &[Op]) -> HashMap<Name, Uses> {
    let mut uses: HashMap<Name, Uses> = HashMap::new();
    for (at, op) in forward.iter().enumerate() {
        op.inputs.args().for_each(|n| uses.entry(n.clone()).or_default().reads.push(at));
        op.outputs.args().for_each(|n| uses.entry(n.clone()).or_default().writes.push(at));
    }
    uses
}

/// The parts of the path to repeat, in its order: from its start, then from checkpoint to checkpoint. One checkpoint alone makes a
/// segment of all that leads to it.
fn segments(uses: &HashMap<Name, Uses>, checkpoints: &[Name]) -> Vec<Range<usize>> {
    let mut on_path: Vec<&Uses> = Vec::new();
    for (i, name) in checkpoints.iter().enumerate() {
        if !checkpoints[..i].contains(name) {
            on_path.extend(uses.get(name));
        }
    }
    // A variable that nothing on the path writes is an input and comes first.
    on_path.sort_by_key(|u| u.writes.iter().max().copied());
    let mut segments: Vec<Range<usize>> = Vec::new();
    if let [only] = on_path[..] {
        segments.extend(only.writes.iter().max().filter(|last| **last > 0).map(|last| 0..last + 1));
    }
    for pair in on_path.windows(2) {
        let (Some(&first), Some(&last)) = (pair[0].reads.first(), pair[1].writes.iter().max()) else { continue };
        if first < last && segments.last().is_none_or(|before| before.end <= first) {
            segments.push(first..last + 1);
        }
    }
    if let Some(start) = segments.first().map(|s| s.start).filter(|start| *start > 0) {
        segments.insert(0, 0..start);
    }
    segments
}
