//! Comparing programs with those of Fluid 1.8.

use std::path::PathBuf;

use oarlock::{Program, Registry};
use oarlock_ir::{Block, Op, diff};
use oarlock_testkit::{golden_dir, skip};

/// What is compared besides an operator's own attributes.
const BOOKKEEPING: [&str; 3] = ["op_role", "op_role_var", "op_namescope"];

/// Slots whose order is the accident of a Python set.
const SETS: [(&str, &str); 6] = [
    ("while", "X"),
    ("while", "Out"),
    ("conditional_block", "Input"),
    ("conditional_block", "Out"),
    ("recurrent", "parameters"),
    ("while_grad", "X"),
];

/// The program with only what counts: attributes that differ from their defaults, arguments of sets in order.
pub(crate) fn plain(program: &Program, registry: &Registry) -> Program {
    let mut program = program.clone();
    for block in program.blocks_mut() {
        block.ops.iter_mut().for_each(|op| plain_op(op, registry));
    }
    program
}

fn plain_op(op: &mut Op, registry: &Registry) {
    for (op_type, slot) in SETS {
        if op.op_type == op_type {
            for slots in [&mut op.inputs, &mut op.outputs] {
                slots.iter_mut().filter(|(name, _)| **name == slot).for_each(|(_, args)| args.sort());
            }
        }
    }
    let Some(entry) = registry.get(&op.op_type) else { return };
    let set: Vec<_> = op.attrs.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
    for (name, value) in set {
        let sig = entry.sig.attrs.iter().find(|a| a.name == name.as_str());
        let counts = match sig {
            Some(sig) => sig.default.as_ref() != Some(&value),
            None => BOOKKEEPING.contains(&name.as_str()),
        };
        if !counts {
            op.attrs.remove(&name);
        }
    }
}

/// What the signatures of operators do not allow in a program.
pub(crate) fn refused(program: &Program, registry: &Registry) -> Vec<String> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops);
    ops.filter_map(|op| registry.get(&op.op_type)?.sig.check(op).err()).map(|e| e.to_string()).collect()
}

/// Operators of a program that the registry does not know.
pub(crate) fn unknown(program: &Program, registry: &Registry) -> Vec<String> {
    let ops = |b: &Block| b.ops.iter().map(|op| op.op_type.to_string()).collect::<Vec<_>>();
    let all = program.blocks().iter().flat_map(ops);
    all.filter(|op_type| registry.get(op_type).is_none()).collect()
}

/// The first difference between a program and the one that Fluid built.
pub(crate) fn difference(found: &Program, expected: &Program, registry: &Registry) -> Option<String> {
    diff(&plain(found, registry), &plain(expected, registry), &["op_callstack", "op_device"])
}

/// Fails unless a program is what Fluid built, in its file format.
pub(crate) fn assert_same(what: &str, found: &Program, expected: &[u8], registry: &Registry) {
    let expected = Program::from_bytes(expected).unwrap_or_else(|e| panic!("{what}: {e}"));
    if let Some(text) = difference(found, &expected, registry) {
        panic!("{what}: {text}");
    }
}

/// The directory of golden data; says that the test is skipped if there is none.
pub(crate) fn dir() -> Option<PathBuf> {
    let dir = golden_dir();
    if dir.is_none() {
        skip("OARLOCK_GOLDEN does not name the golden data");
    }
    dir
}
