//! Lookups in tables that live on servers: all lookups of one table become one operator, so that a step asks each
//! server once.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use oarlock_ir::{Attr, Name, Op, Program, Result, Role, VarDType};
use oarlock_tensor::DType;

use super::job::Job;
use super::trainer::rows;
use super::updates::Update;
use crate::op::{NO_VARS, distributed_lookup_table, strings, with_role};

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

/// Replaces the lookups of remote tables.
pub(super) fn look_up_remotely(job: &Job, program: &mut Program) -> Result<()> {
    for update in job.updates().iter().filter(|u| job.remote.contains(&u.param)) {
        for (_, lookups) in groups(program, &update.param) {
            replace(job, update, program, &lookups)?;
        }
    }
    Ok(())
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

fn replace(job: &Job, update: &Update, program: &mut Program, lookups: &[Op]) -> Result<()> {
    let Some(at) = together(program, lookups) else {
        // Some ids depend on rows of the same table: each lookup keeps its place.
        for lookup in lookups {
            let op = joint_lookup(job, update, std::slice::from_ref(lookup))?;
            for place in program.global_mut().ops.iter_mut().filter(|place| *place == lookup) {
                *place = op.clone();
            }
        }
        return Ok(());
    };
    let op = joint_lookup(job, update, lookups)?;
    let ops = &mut program.global_mut().ops;
    ops.retain(|op| !lookups.contains(op));
    ops.insert(at, op);
    Ok(())
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

fn joint_lookup(job: &Job, update: &Update, lookups: &[Op]) -> Result<Op> {
    let dtype = match job.var(&update.param)?.dtype {
        VarDType::Is(dtype) => dtype,
        VarDType::Other(_) => DType::F32,
    };
    let ids = lookups.iter().flat_map(|op| op.inputs.get("Ids")).cloned().collect();
    let found = lookups.iter().flat_map(|op| op.outputs.get("Out")).cloned().collect();
    let mut op = distributed_lookup_table(ids, &update.param, found, dtype)
        .attr("table_names", strings(&job.block_names(update)))
        .attr("endpoints", job.endpoints(update))
        .attr("height_sections", rows(job, update))
        .attr("trainer_id", job.trainer_attr());
    if let Some(first) = lookups.first() {
        op.attrs.set("lookup_table_version", first.op_type.as_str());
        op.attrs.set("padding_idx", first.attrs.get("padding_idx").cloned().unwrap_or(Attr::Long(-1)));
        op.site = first.site.clone();
    }
    Ok(with_role(op, Role::FORWARD, NO_VARS))
}
