//! Temporaries of block 0 that share memory.
//!
//! A temporary is alive from its first to its last use. Two that are never alive together can use one slot, whose buffer grows to
//! the larger of both. By default only variables of one declared shape share (their buffers then fit without growing);
//! a program with `memory.share` lets any two tensors share, the nearest in size first.

use std::collections::HashMap;

use oarlock_ir::{Dim, Name, Program, Traits, Var, VarKind};

use super::analysis::{Access, Key, LiveRange};

/// A temporary that may share memory.
struct Candidate {
    key: Key,
    range: LiveRange,
    class: Class,
    /// Elements, with a batch counted as 64 rows: only used to compare.
    size: usize,
}

/// Properties that must be equal for two variables to share.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Class {
    kind: VarKind,
    /// Empty when any shape will do.
    shape: Vec<Dim>,
    bytes: usize,
}

/// Decides which temporaries share: maps each candidate to a colour.
pub(crate) struct Colours {
    pub(crate) of: HashMap<Key, usize>,
    pub(crate) count: usize,
}

/// The facts that decide whether a variable may share.
pub(crate) struct Rules<'a> {
    pub(crate) program: &'a Program,
    pub(crate) accesses: &'a [Access],
    pub(crate) live_ranges: &'a HashMap<Key, LiveRange>,
    /// Variables that must keep a slot of their own.
    pub(crate) private: &'a dyn Fn(&Key) -> bool,
    pub(crate) traits: &'a dyn Fn(&str) -> Traits,
}

/// Colours the temporaries of block 0.
pub(crate) fn colour(rules: &Rules<'_>) -> Colours {
    let mut candidates = candidates(rules);
    candidates.sort_by(|a, b| (a.range.first, &a.key.1).cmp(&(b.range.first, &b.key.1)));
    let mut colours = Colours { of: HashMap::new(), count: 0 };
    // Free colours with the class and size they were made for, and busy ones with the operator after which they are free.
    let mut free: Vec<(usize, Class, usize)> = Vec::new();
    let mut busy: Vec<(usize, usize, Class, usize)> = Vec::new();
    for c in &candidates {
        let (ended, still): (Vec<_>, Vec<_>) = busy.into_iter().partition(|b| b.0 < c.range.first);
        free.extend(ended.into_iter().map(|(_, colour, class, size)| (colour, class, size)));
        busy = still;
        let colour = match in_place(rules, c, &colours, &mut busy).or_else(|| take(&mut free, c)) {
            Some(found) => found,
            None => {
                colours.count += 1;
                colours.count - 1
            }
        };
        colours.of.insert(c.key.clone(), colour);
        busy.push((c.range.last, colour, c.class.clone(), c.size));
    }
    colours
}

fn candidates(rules: &Rules<'_>) -> Vec<Candidate> {
    let share = rules.program.memory.share;
    let eligible = |key: &Key, var: &Var| {
        key.0 == 0
            && !var.persistable
            && matches!(var.kind, VarKind::Tensor | VarKind::SelectedRows)
            && !rules.program.memory.keep.contains(&key.1)
            && !(rules.private)(key)
            && !rules.accesses.iter().any(|a| a.nested.contains(key))
    };
    let mut found = Vec::new();
    for (name, var) in &rules.program.global().vars {
        let key = (0, name.clone());
        let Some(range) = rules.live_ranges.get(&key) else { continue };
        if !eligible(&key, var) {
            continue;
        }
        let ty = var.ty();
        let class = Class {
            kind: var.kind,
            shape: if share { Vec::new() } else { var.shape.0.clone() },
            bytes: if share { 0 } else { ty.dtype.size() },
        };
        let size = var.shape.iter().map(|d| d.known().unwrap_or(64)).product::<usize>() * ty.dtype.size();
        found.push(Candidate { key, range: *range, class, size });
    }
    found
}

/// The colour of an input that this variable may overwrite: the operator that writes it first says so, and the input ends there.
fn in_place(
    rules: &Rules<'_>,
    c: &Candidate,
    colours: &Colours,
    busy: &mut Vec<(usize, usize, Class, usize)>,
) -> Option<usize> {
    let op = &rules.program.global().ops[c.range.first];
    let slot_of = |slots: &oarlock_ir::Slots, name: &Name| {
        slots.iter().find(|(_, args)| args.contains(name)).map(|(s, _)| s.to_string())
    };
    let out_slot = slot_of(&op.outputs, &c.key.1)?;
    let pairs = (rules.traits)(&op.op_type).in_place;
    for (input, _) in pairs.iter().filter(|(_, o)| *o == out_slot) {
        let [name] = op.inputs.get(input) else { continue };
        let key = (0, name.clone());
        let ends_here = rules.live_ranges.get(&key).is_some_and(|l| l.last == c.range.first);
        let Some(&colour) = colours.of.get(&key) else { continue };
        let used_once = op.inputs.args().filter(|a| *a == name).count() == 1;
        let at = busy.iter().position(|b| b.1 == colour && b.2 == c.class && b.3 == c.size);
        if let (true, true, Some(at)) = (ends_here, used_once, at) {
            busy.remove(at);
            return Some(colour);
        }
    }
    None
}

/// A free colour of the same class, the nearest in size.
fn take(free: &mut Vec<(usize, Class, usize)>, c: &Candidate) -> Option<usize> {
    let fits = free.iter().enumerate().filter(|(_, f)| f.1 == c.class);
    let (at, _) = fits.min_by_key(|(_, f)| f.2.abs_diff(c.size))?;
    Some(free.swap_remove(at).0)
}
