//! Operators of a block.

use crate::error::Place;
use crate::{Attr, Attrs, Explicit, Name, UnknownInside};

/// The name that stands for "no variable" in an argument list.
pub const EMPTY: &str = "@EMPTY@";

/// Arguments by slot, in alphabetical order of the slot names as Fluid writes them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slots(Vec<(Name, Vec<Name>)>);

impl Slots {
    /// The arguments of a slot; none if there is no such slot.
    pub fn get(&self, slot: &str) -> &[Name] {
        self.0.iter().find(|(n, _)| n == slot).map_or(&[], |(_, v)| v)
    }

    /// Is the slot listed, even if without arguments?
    pub fn has(&self, slot: &str) -> bool {
        self.0.iter().any(|(n, _)| n == slot)
    }

    /// Sets the arguments of a slot.
    pub fn set(&mut self, slot: impl Into<Name>, args: Vec<Name>) {
        let slot = slot.into();
        match self.0.binary_search_by(|(n, _)| n.cmp(&slot)) {
            Ok(i) => self.0[i].1 = args,
            Err(i) => self.0.insert(i, (slot, args)),
        }
    }

    /// Removes a slot.
    pub fn remove(&mut self, slot: &str) -> Option<Vec<Name>> {
        let i = self.0.iter().position(|(n, _)| n == slot)?;
        Some(self.0.remove(i).1)
    }

    /// Slots with their arguments.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &[Name])> {
        self.0.iter().map(|(n, v)| (n, v.as_slice()))
    }

    /// Slots with their arguments, to rename.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Name, &mut Vec<Name>)> {
        self.0.iter_mut().map(|(n, v)| (&*n, v))
    }

    /// All arguments that name a variable, slot after slot.
    pub fn args(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|(_, v)| v).filter(|n| **n != EMPTY)
    }

    /// Replaces one variable by another wherever it stands.
    pub fn rename(&mut self, from: &str, to: &Name) {
        for arg in self.0.iter_mut().flat_map(|(_, v)| v) {
            if arg == from {
                *arg = to.clone();
            }
        }
    }
}

impl<S: Into<Name>, N: Into<Name>, I: IntoIterator<Item = N>> FromIterator<(S, I)> for Slots {
    fn from_iter<It: IntoIterator<Item = (S, I)>>(items: It) -> Slots {
        let mut slots = Slots::default();
        for (slot, args) in items {
            slots.set(slot, args.into_iter().map(Into::into).collect());
        }
        slots
    }
}

/// The purpose of an operator; bits of the attribute `op_role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role(pub i32);

impl Role {
    /// Part of the network.
    pub const FORWARD: Role = Role(0);
    /// Part of the gradient.
    pub const BACKWARD: Role = Role(1);
    /// Updates parameters.
    pub const OPTIMIZE: Role = Role(2);
    /// Talks to other machines.
    pub const RPC: Role = Role(4);
    /// Prepares or finishes communication.
    pub const DIST: Role = Role(8);
    /// Computes the learning rate.
    pub const LR_SCHED: Role = Role(16);
    /// Computes the loss (bit).
    pub const LOSS: Role = Role(256);
    /// Not set.
    pub const UNSPECIFIED: Role = Role(4096);

    /// Are all bits of `other` set? `FORWARD` has no bits and is never contained.
    pub fn has(self, other: Role) -> bool {
        other.0 != 0 && self.0 & other.0 == other.0
    }

    /// Both roles at once.
    pub const fn and(self, other: Role) -> Role {
        Role(self.0 | other.0)
    }
}

/// A mark by which an editor of a program finds an operator again, wherever it moves; 0 for none.
///
/// It says nothing about the operator: it is not saved, and operators that differ only here are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark(pub u32);

impl PartialEq for Mark {
    fn eq(&self, _: &Mark) -> bool {
        true
    }
}

/// One operator of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// Which operator.
    pub op_type: Name,
    /// Its input variables.
    pub inputs: Slots,
    /// Its output variables.
    pub outputs: Slots,
    /// Its attributes as set; others take their defaults.
    pub attrs: Attrs,
    /// A target of pruning (a field of the file format).
    pub is_target: bool,
    /// The user's line that made it, such as `train.py:41 in build_net`; not in files.
    pub site: Option<Name>,
    /// Fields of the file format that this version does not know, as bytes.
    pub unknown: Vec<u8>,
    /// Unknown fields inside the messages of slots and attributes, by the place they stand at.
    pub unknown_inside: UnknownInside,
    /// Defaults that the file spelled out.
    pub explicit: Explicit,
    /// For editors.
    pub mark: Mark,
}

impl Op {
    /// An operator without arguments.
    pub fn new(op_type: impl Into<Name>) -> Op {
        Op {
            op_type: op_type.into(),
            inputs: Slots::default(),
            outputs: Slots::default(),
            attrs: Attrs::default(),
            is_target: false,
            site: None,
            unknown: Vec::new(),
            unknown_inside: UnknownInside::default(),
            explicit: Explicit::default(),
            mark: Mark::default(),
        }
    }

    /// With these arguments in an input slot.
    pub fn input<N: Into<Name>>(mut self, slot: &str, args: impl IntoIterator<Item = N>) -> Op {
        self.inputs.set(slot, args.into_iter().map(Into::into).collect());
        self
    }

    /// With these arguments in an output slot.
    pub fn output<N: Into<Name>>(mut self, slot: &str, args: impl IntoIterator<Item = N>) -> Op {
        self.outputs.set(slot, args.into_iter().map(Into::into).collect());
        self
    }

    /// With an attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Op {
        self.attrs.set(name, value);
        self
    }

    /// Its purpose.
    pub fn role(&self) -> Role {
        match self.attrs.get("op_role") {
            Some(Attr::Int(r)) => Role(*r),
            _ => Role::UNSPECIFIED,
        }
    }

    /// Sets its purpose.
    pub fn set_role(&mut self, role: Role) {
        self.attrs.set("op_role", role.0);
    }

    /// The blocks its attributes refer to.
    pub fn sub_blocks(&self) -> Vec<usize> {
        self.attrs
            .iter()
            .flat_map(|(_, a)| match a {
                Attr::Block(b) => vec![*b],
                Attr::Blocks(b) => b.clone(),
                _ => Vec::new(),
            })
            .collect()
    }

    /// Where it stands, for an error.
    pub fn place(&self, block: usize, op: usize) -> Place {
        Place { block, op, op_type: self.op_type.clone(), site: self.call_site() }
    }

    /// The user's line that made it: as recorded when it was built, else the innermost line of `op_callstack`.
    pub fn call_site(&self) -> Option<Name> {
        if self.site.is_some() {
            return self.site.clone();
        }
        let Some(Attr::Strings(stack)) = self.attrs.get("op_callstack") else { return None };
        // Lines come in pairs: `  File "train.py", line 41, in build_net` and the source line.
        let line = stack.iter().rev().find_map(|l| l.trim_start().strip_prefix("File \""))?;
        let (file, rest) = line.split_once("\", line ")?;
        let (number, function) = rest.trim_end().split_once(", in ").unwrap_or((rest.trim_end(), ""));
        let function = function.lines().next().unwrap_or("");
        Some(
            if function.is_empty() { format!("{file}:{number}") } else { format!("{file}:{number} in {function}") }
                .into(),
        )
    }
}
