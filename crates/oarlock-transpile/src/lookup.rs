//! Lookups in tables that live on servers: all lookups of one table become one operator, so that a step asks each
//! server once.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use oarlock_ir::{Attr, Name, Op, Program, Role, VarDType};
use oarlock_tensor::DType;

use super::job::Job;
use super::trainer::rows;
use super::updates::Update;
use crate::ops::{LOOKUP, NO_VARS, READ_ONLY, distributed_lookup_table, strings, with_role};

/// The two lookups: the first expects ids of shape [..., 1], the second of any shape.
const LOOKUPS: [&str; 2] = ["lookup_table", "lookup_table_v2"];

pub(super) fn is_lookup(op: &Op) -> bool {
    LOOKUPS.contains(&op.op_type.as_str())
}

fn is_lookup_grad(op: &Op) -> bool {
    op.op_type.strip_suffix("_grad").is_some_and(|forward| LOOKUPS.contains(&forward))
}

pub(super) fn flag(op: &Op, name: &str) -> bool {
    matches!(op.attrs.get(name), Some(Attr::Bool(true)))
}

/// Is it a lookup that may ask servers?
fn is_remote(op: &Op) -> bool {
    is_lookup(op) && flag(op, "is_sparse") && (flag(op, "remote_prefetch") || flag(op, "is_distributed"))
}

/// The tables that only remote lookups read, so that no trainer needs to hold them.
pub(super) fn remote_tables(program: &Program, updates: &[Update]) -> BTreeSet<Name> {
    let ops = &program.global().ops;
    let looked_up = |table: &Name| ops.iter().any(|op| is_remote(op) && op.inputs.get("W").contains(table));
    let tables = updates.iter().filter(|u| u.sparse).map(|u| &u.param);
    tables.filter(|t| looked_up(t) && reads_elsewhere(program, updates, t).is_none()).cloned().collect()
}

/// The type of an operator, other than remote lookups and updates, that reads a table.
pub(super) fn reads_elsewhere(program: &Program, updates: &[Update], table: &Name) -> Option<Name> {
    let own: BTreeSet<usize> = updates.iter().flat_map(|u| u.ops.iter().copied()).collect();
    let kept = program.global().ops.iter().enumerate().filter(|(i, _)| !own.contains(i)).map(|(_, op)| op);
    let inner = program.blocks().iter().skip(1).flat_map(|b| &b.ops);
    let reads = |op: &Op| {
        let as_table = is_remote(op) || is_lookup_grad(op);
        op.inputs.iter().any(|(slot, args)| args.contains(table) && !(as_table && *slot == "W"))
    };
    let lookup_inside = inner.clone().find(|op| op.inputs.args().any(|arg| arg == table));
    kept.chain(inner).find(|op| reads(op)).or(lookup_inside).map(|op| op.op_type.clone())
}

/// Where the rows of a table are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteTable {
    /// The table.
    pub name: Name,
    /// Its parts: a server each, and the part's name there.
    pub parts: Vec<(String, String)>,
    /// The rows of each part; empty if rows are hashed over the parts.
    pub sections: Vec<i64>,
}

/// The process that looks up rows.
#[derive(Clone, Copy)]
enum Reader {
    /// A trainer, by its number.
    Trainer(i32),
    /// A reader, which changes nothing.
    Onlooker,
}

/// Replaces the lookups of remote tables.
pub(super) fn look_up_remotely(job: &Job, program: &mut Program) {
    for update in job.updates().iter().filter(|u| job.remote.contains(&u.param)) {
        let names = strings(&job.block_names(update));
        let parts = job.endpoints(update).into_iter().zip(names).collect();
        let table = RemoteTable { name: update.param.clone(), parts, sections: rows(job, update) };
        replace_all(program, &table, Reader::Trainer(job.trainer_attr()));
    }
}

/// The tables of a network that predicts, as far as they live on servers while it is trained.
pub fn tables_on_servers(program: &Program) -> Vec<Name> {
    let lives_there = |op: &&Op| is_lookup(op) && (flag(op, "is_sparse") || flag(op, "is_distributed"));
    let lookups = program.global().ops.iter().filter(lives_there);
    let tables: BTreeSet<&Name> = lookups.flat_map(|op| op.inputs.get("W")).collect();
    tables.into_iter().cloned().collect()
}

/// Lets a network that predicts look up rows on servers, where that changes nothing. Returns the tables that it now needs no
/// values of.
pub fn predict_with_servers(program: &mut Program, tables: &[RemoteTable]) -> Vec<Name> {
    tables.iter().for_each(|table| replace_all(program, table, Reader::Onlooker));
    let reads = |name: &Name, op: &Op| op.op_type != LOOKUP && op.inputs.args().any(|arg| arg == name);
    let unread = |name: &&Name| !program.blocks().iter().flat_map(|b| &b.ops).any(|op| reads(name, op));
    tables.iter().map(|table| &table.name).filter(unread).cloned().collect()
}

fn replace_all(program: &mut Program, table: &RemoteTable, reader: Reader) {
    for (_, lookups) in groups(program, &table.name) {
        replace(program, table, reader, &lookups);
    }
}

/// The lookups of a table, those together that treat ids alike.
fn groups(program: &Program, table: &Name) -> IndexMap<String, Vec<Op>> {
    let mut groups: IndexMap<String, Vec<Op>> = IndexMap::new();
    for op in program.global().ops.iter().filter(|op| is_lookup(op) && op.inputs.get("W").contains(table)) {
        let key = format!("{} {:?}", op.op_type, op.attrs.get("padding_idx"));
        groups.entry(key).or_default().push(op.clone());
    }
    groups
}

fn replace(program: &mut Program, table: &RemoteTable, reader: Reader, lookups: &[Op]) {
    let Some(at) = together(program, lookups) else {
        // Some ids depend on rows of the same table: each lookup keeps its place.
        for lookup in lookups {
            let op = joint_lookup(program, table, reader, std::slice::from_ref(lookup));
            for place in program.global_mut().ops.iter_mut().filter(|place| *place == lookup) {
                *place = op.clone();
            }
        }
        return;
    };
    let op = joint_lookup(program, table, reader, lookups);
    let ops = &mut program.global_mut().ops;
    ops.retain(|op| !lookups.contains(op));
    ops.insert(at, op);
}

/// Where one operator can do all lookups: after the last of their ids is there and before the first row is needed.
fn together(program: &Program, lookups: &[Op]) -> Option<usize> {
    let rest: Vec<&Op> = program.global().ops.iter().filter(|op| !lookups.contains(op)).collect();
    let ids: BTreeSet<&Name> = lookups.iter().flat_map(|op| op.inputs.get("Ids")).collect();
    let found: BTreeSet<&Name> = lookups.iter().flat_map(|op| op.outputs.get("Out")).collect();
    let last_id = rest.iter().rposition(|op| op.outputs.args().any(|out| ids.contains(out)));
    let first_use = rest.iter().position(|op| op.inputs.args().any(|arg| found.contains(arg)));
    let at = last_id.map_or(0, |i| i + 1);
    first_use.is_none_or(|first| at <= first).then_some(at)
}

fn joint_lookup(program: &Program, table: &RemoteTable, reader: Reader, lookups: &[Op]) -> Op {
    let dtype = match program.global().var(&table.name).map(|var| var.dtype) {
        Some(VarDType::Is(dtype)) => dtype,
        _ => DType::F32,
    };
    let ids = lookups.iter().flat_map(|op| op.inputs.get("Ids")).cloned().collect();
    let found = lookups.iter().flat_map(|op| op.outputs.get("Out")).cloned().collect();
    let (endpoints, names): (Vec<String>, Vec<String>) = table.parts.iter().cloned().unzip();
    let mut op = distributed_lookup_table(ids, &table.name, found, dtype)
        .attr("table_names", names)
        .attr("endpoints", endpoints)
        .attr("height_sections", table.sections.clone());
    match reader {
        Reader::Trainer(number) => op.attrs.set("trainer_id", number),
        Reader::Onlooker => op.attrs.set(READ_ONLY, true),
    }
    if let Some(first) = lookups.first() {
        op.attrs.set("lookup_table_version", first.op_type.as_str());
        op.attrs.set("padding_idx", first.attrs.get("padding_idx").cloned().unwrap_or(Attr::Long(-1)));
        op.site = first.site.clone();
    }
    with_role(op, Role::FORWARD, NO_VARS)
}
