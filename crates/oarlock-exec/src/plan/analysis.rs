//! The variables that each operator reads and writes, and when they are in use.

use std::collections::{HashMap, HashSet};

use oarlock_ir::{EMPTY, Error, Kind, Name, Op, Program, Result};

/// A variable: the block that declares it, and its name.
pub(crate) type Key = (usize, Name);

/// The input slots of an operator whose variables may have no value.
pub(crate) type MaybeEmpty<'a> = &'a dyn Fn(&Op) -> &'static [&'static str];

/// The variables that an operator reads and writes, its sub-blocks included.
#[derive(Default, Clone)]
pub(crate) struct Access {
    /// Variables it reads; of those that its sub-blocks read, only those that they do not surely write before.
    pub(crate) reads: Vec<Key>,
    pub(crate) writes: Vec<Key>,
    /// Reads and writes by operators of sub-blocks alone.
    pub(crate) nested: HashSet<Key>,
    /// Variables it reads that may be empty.
    pub(crate) lenient: HashSet<Key>,
}

/// The variables that each operator of a block reads and writes.
pub(crate) fn accesses(program: &Program, block: usize, maybe_empty: MaybeEmpty<'_>) -> Result<Vec<Access>> {
    let one = |(i, op): (usize, &Op)| {
        let found = access(program, block, op, maybe_empty);
        found.map_err(|e| e.at(|| op.place(block, i)))
    };
    program.block(block).ops.iter().enumerate().map(one).collect()
}

fn access(program: &Program, block: usize, op: &Op, maybe_empty: MaybeEmpty<'_>) -> Result<Access> {
    let mut found = Access::default();
    for name in op.inputs.args() {
        found.reads.push(key(program, block, name, op, "reads")?);
    }
    for sub in op.sub_blocks() {
        add_block(&mut found, accesses(program, sub, maybe_empty)?);
    }
    for name in op.outputs.args() {
        found.writes.push(key(program, block, name, op, "writes")?);
    }
    // The operator gives such a variable a value before its sub-block sees it.
    for name in maybe_empty(op).iter().flat_map(|slot| op.inputs.get(slot)).filter(|n| **n != EMPTY) {
        found.lenient.insert(key(program, block, name, op, "reads")?);
    }
    Ok(found)
}

/// Adds what the operators of a sub-block read and write.
fn add_block(found: &mut Access, inner: Vec<Access>) {
    let mut sure: HashSet<Key> = HashSet::new();
    let mut strict: HashSet<Key> = HashSet::new();
    for a in inner {
        found.nested.extend(a.reads.iter().chain(&a.writes).chain(&a.nested).cloned());
        for key in a.reads.into_iter().filter(|k| !sure.contains(k)) {
            if a.lenient.contains(&key) && !strict.contains(&key) {
                found.lenient.insert(key.clone());
            } else {
                strict.insert(key.clone());
            }
            found.reads.push(key);
        }
        sure.extend(a.writes.iter().filter(|k| !a.nested.contains(k)).cloned());
        found.writes.extend(a.writes);
    }
    found.lenient.retain(|k| !strict.contains(k));
}

fn key(program: &Program, block: usize, name: &Name, op: &Op, does: &str) -> Result<Key> {
    match program.resolve(block, name) {
        Some(home) => Ok((home, name.clone())),
        None => Err(Error::new(
            Kind::Unknown,
            format!("`{}` {does} `{name}`, which the program does not declare", op.op_type),
        )
        .help("create the variable in the block, or one around it, before the operator")),
    }
}

/// The first and last operator of block 0 that touches a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LiveRange {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// How long each variable is in use, in operators of block 0.
pub(crate) fn live_ranges(accesses: &[Access]) -> HashMap<Key, LiveRange> {
    let mut live_ranges: HashMap<Key, LiveRange> = HashMap::new();
    for (i, a) in accesses.iter().enumerate() {
        for key in a.reads.iter().chain(&a.writes) {
            live_ranges.entry(key.clone()).and_modify(|l| l.last = i).or_insert(LiveRange { first: i, last: i });
        }
    }
    live_ranges
}

/// Variables that block 0 reads before it writes them, with the operator that does.
pub(crate) fn read_first(accesses: &[Access], fed: &dyn Fn(&Key) -> bool) -> HashMap<Key, usize> {
    let mut written: HashSet<&Key> = HashSet::new();
    let mut found = HashMap::new();
    for (i, a) in accesses.iter().enumerate() {
        for key in a.reads.iter().filter(|k| k.0 == 0 && !fed(k)) {
            if !written.contains(key) && !a.lenient.contains(key) {
                found.entry(key.clone()).or_insert(i);
            }
        }
        written.extend(&a.writes);
    }
    found
}

/// Variables that are not surely written when they are read: an operator of a sub-block writes them first, if it runs at all,
/// or an operator reads them that can do without.
pub(crate) fn maybe_written(accesses: &[Access]) -> HashSet<Key> {
    let mut sure: HashSet<&Key> = HashSet::new();
    let mut maybe = HashSet::new();
    for a in accesses {
        maybe.extend(a.lenient.iter().filter(|k| !sure.contains(k)).cloned());
        for key in &a.writes {
            if a.nested.contains(key) && !sure.contains(key) {
                maybe.insert(key.clone());
            } else {
                sure.insert(key);
            }
        }
    }
    maybe
}
