//! Fusions: several operators of a plan computed by one.
//!
//! A plan works on a copy of the program. A fusion rewrites that copy: it finds a pattern, makes sure that no other operator needs the
//! variables that disappear, and puts an operator of its own in place. Fused and unfused give the same bits, unless
//! the fusion's file says where not.

use std::collections::HashMap;

use crate::def::OpDef;
use crate::error::Result;
use crate::{Block, Name, Op};

/// Several operators done as one: pattern and legality in `apply`, the kernel in the operators of `ops`.
pub trait Fusion: Sync {
    /// Its name in profiles and options.
    fn name(&self) -> &'static str;

    /// The fusions that must have been tried before, by name: it builds on their operators, or would take theirs away.
    fn after(&self) -> &'static [&'static str] {
        &[]
    }

    /// The operators it puts into plans.
    fn ops(&self) -> &'static [&'static dyn OpDef];

    /// Rewrites every occurrence in a block.
    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()>;
}

/// The operators that go, the place of the one that replaces them, and that operator.
pub type Replacement = (Vec<usize>, usize, Op);

/// A fusion that replaces every occurrence of a pattern by one operator.
pub struct Pattern {
    /// See [`Fusion::name`].
    pub name: &'static str,
    /// See [`Fusion::after`].
    pub after: &'static [&'static str],
    /// See [`Fusion::ops`].
    pub ops: &'static [&'static dyn OpDef],
    /// The occurrence that the operator at a position begins or ends: the positions that disappear, where the fused operator stands
    /// (one of them), and that operator.
    pub find: fn(&FuseBlock<'_>, usize) -> Option<Replacement>,
}

impl Fusion for Pattern {
    fn name(&self) -> &'static str {
        self.name
    }

    fn after(&self) -> &'static [&'static str] {
        self.after
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        self.ops
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for i in 0..g.len() {
            if let Some((gone, at, op)) = (self.find)(g, i) {
                g.replace(&gone, at, op);
            }
        }
        Ok(())
    }
}

/// A block being fused: its operators, and which of them read and write each variable.
pub struct FuseBlock<'a> {
    /// The block; variables may be added.
    pub block: &'a mut Block,
    ops: Vec<Option<Op>>,
    readers: HashMap<Name, Vec<usize>>,
    writers: HashMap<Name, Vec<usize>>,
    roots: &'a dyn Fn(&str) -> bool,
}

impl<'a> FuseBlock<'a> {
    /// Takes the operators of a block. `roots` tells which variables must stay: fetched, persistable, used by other blocks.
    pub fn new(block: &'a mut Block, roots: &'a dyn Fn(&str) -> bool) -> FuseBlock<'a> {
        let ops: Vec<Option<Op>> = std::mem::take(&mut block.ops).into_iter().map(Some).collect();
        let mut g = FuseBlock { block, ops, readers: HashMap::new(), writers: HashMap::new(), roots };
        for i in 0..g.ops.len() {
            g.index(i);
        }
        g
    }

    /// Puts the operators back into the block.
    pub fn finish(self) {
        self.block.ops = self.ops.into_iter().flatten().collect();
    }

    fn index(&mut self, i: usize) {
        let Some(op) = &self.ops[i] else { return };
        for name in op.inputs.args() {
            self.readers.entry(name.clone()).or_default().push(i);
        }
        for name in op.outputs.args() {
            self.writers.entry(name.clone()).or_default().push(i);
        }
    }

    fn unindex(&mut self, i: usize) {
        let Some(op) = &self.ops[i] else { return };
        let drop_from = |map: &mut HashMap<Name, Vec<usize>>, name: &Name| {
            if let Some(list) = map.get_mut(name) {
                list.retain(|&at| at != i);
            }
        };
        for name in op.inputs.args() {
            drop_from(&mut self.readers, name);
        }
        for name in op.outputs.args() {
            drop_from(&mut self.writers, name);
        }
    }

    /// The number of positions; some may be empty.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// No positions at all?
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The operator at a position, if it is still there.
    pub fn op(&self, i: usize) -> Option<&Op> {
        self.ops.get(i)?.as_ref()
    }

    /// The operator at a position if it is of this type.
    pub fn typed(&self, i: usize, op_type: &str) -> Option<&Op> {
        self.op(i).filter(|op| op.op_type == op_type)
    }

    /// Positions that read a variable, ascending, each once per argument.
    pub fn readers(&self, name: &str) -> &[usize] {
        self.readers.get(name).map_or(&[], |v| v)
    }

    /// Positions that write a variable.
    pub fn writers(&self, name: &str) -> &[usize] {
        self.writers.get(name).map_or(&[], |v| v)
    }

    /// The one operator that writes a variable, if there is exactly one.
    pub fn writer(&self, name: &str) -> Option<usize> {
        match self.writers(name) {
            [i] => Some(*i),
            _ => None,
        }
    }

    /// The one operator that reads a variable which no other operator needs or rewrites.
    pub fn only_reader(&self, name: &str) -> Option<usize> {
        let [i] = self.readers(name) else { return None };
        (!self.is_root(name) && self.writer(name).is_some()).then_some(*i)
    }

    /// Must the variable stay?
    pub fn is_root(&self, name: &str) -> bool {
        (self.roots)(name)
    }

    /// Is a variable written by any operator at positions `from..to`?
    pub fn written_between(&self, name: &str, from: usize, to: usize) -> bool {
        self.writers(name).iter().any(|&i| (from..to).contains(&i))
    }

    /// Can a variable disappear with the operators of `inside`? It is no root, and no other operator uses it.
    pub fn is_private(&self, name: &str, inside: &[usize]) -> bool {
        !self.is_root(name) && self.readers(name).iter().chain(self.writers(name)).all(|i| inside.contains(i))
    }

    /// Replaces the operators at `gone` by one at position `at` (one of them). It carries the user's line of the one that stood
    /// there, so that an error while it runs names it.
    pub fn replace(&mut self, gone: &[usize], at: usize, mut op: Op) {
        op.site = self.op(at).and_then(Op::call_site);
        for &i in gone {
            self.unindex(i);
            self.ops[i] = None;
        }
        self.ops[at] = Some(op);
        self.index(at);
        for list in self.readers.values_mut().chain(self.writers.values_mut()) {
            list.sort_unstable();
        }
    }
}
