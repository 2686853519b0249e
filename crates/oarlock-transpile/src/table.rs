//! Hashed tables (`is_distributed`): rows are hashed over all servers, are created on first use, and no trainer holds any.
//!
//! The design of Fluid 1.8, with repairs of the parts that never ran there: several tables may be distributed, gradients of
//! trainers are averaged like all others, and the table is updated by the optimizer that was asked for.

use std::collections::{BTreeMap, BTreeSet};

use oarlock_ir::{Attr, Dim, Error, Kind, Name, Op, Program, Result, Role, Shape, Var, VarKind, VarType};
use oarlock_tensor::DType;
use oarlock_tensor::table::{SHOWN, show_click};

use super::job::Job;
use super::lookup::{flag, is_lookup, reads_elsewhere};
use super::server::Server;
use super::updates::Update;
use crate::ops::{NO_VARS, lookup_sparse_table, send, strings, with_role};

/// The tables whose lookups say that they are distributed, whether that is possible or not.
pub(super) fn hashed_tables(program: &Program) -> BTreeSet<Name> {
    let lookups = program.global().ops.iter().filter(|op| is_lookup(op) && flag(op, "is_distributed"));
    lookups.flat_map(|op| op.inputs.get("W")).cloned().collect()
}

/// The tables whose lookups say that they are distributed.
pub(super) fn distributed_tables(program: &Program, updates: &[Update]) -> Result<BTreeSet<Name>> {
    let mut tables = BTreeSet::new();
    for (i, op) in program.global().ops.iter().enumerate() {
        for table in op.inputs.get("W").iter().filter(|_| is_lookup(op) && flag(op, "is_distributed")) {
            check(program, updates, op, table).map_err(|e| e.at(|| op.place(0, i)))?;
            tables.insert(table.clone());
        }
    }
    Ok(tables)
}

fn check(program: &Program, updates: &[Update], op: &Op, table: &Name) -> Result<()> {
    if !flag(op, "is_sparse") {
        return Err(Error::new(Kind::Argument, format!("table `{table}` is distributed, but its gradient is dense"))
            .help("set is_sparse=True together with is_distributed=True"));
    }
    if !updates.iter().any(|u| u.param == *table) {
        return Err(Error::new(Kind::Unsupported, format!("table `{table}` is distributed, but nothing trains it"))
            .help("set is_distributed=False for a table that does not change"));
    }
    match reads_elsewhere(program, updates, table) {
        Some(other) => {
            let what = format!("table `{table}` is distributed, but `{other}` reads it whole");
            Err(Error::new(Kind::Unsupported, what).help("set is_distributed=False, or use a table of its own there"))
        }
        None => Ok(()),
    }
}

/// The part of a gradient that goes to a server.
fn part(gradient: &Name, server: usize) -> Name {
    format!("{gradient}.pserver_{server}").into()
}

/// The operators that send the gradient of a table, each row to the server of its id.
pub(super) fn send_table(job: &Job, update: &Update, dummy: &Name) -> Result<Vec<Op>> {
    let servers = job.placement.servers();
    let whole = job.sent_name(&update.grad, job.trainer_id);
    let parts: Vec<Name> = (0..servers.len()).map(|server| part(&whole, server)).collect();
    let belongs = [update.param.as_str(), update.grad.as_str()];
    // Rows are dealt out while they are sent: which server holds an id is the placement's affair.
    let op = send(vec![update.grad.clone()], dummy, servers.to_vec(), job.trainer_attr());
    let mut op = op.attr("send_varnames", strings(&parts));
    if show_click(&agreed(job, &update.param, "entry")?).is_some() {
        op = op.attr("counts", SHOWN as i32);
    }
    Ok(vec![with_role(op, Role::RPC, belongs)])
}

/// A server's part of a table: a block that updates it and a block that looks rows up.
pub(super) fn serve_table(server: &mut Server<'_>, update: &Update, parent: usize) -> Result<()> {
    let job = server.job;
    declare_rows(server, update)?;
    let grad = part(&update.grad, server.index);
    let from: Vec<Name> = (0..job.trainers).map(|t| part(&job.sent_name(&update.grad, t), server.index)).collect();
    let idx = server.begin_update(parent, &grad);
    let gradient = job.var(&update.grad)?.ty();
    server.merge(&gradient, &from, &grad, idx);
    server.sparse_grad_to_param.push(format!("{grad}:{}", update.param));
    let names = BTreeMap::from([(update.grad.clone(), grad)]);
    for i in &update.ops {
        server.push(idx, job.main.global().ops[*i].clone(), &names, None)?;
    }
    add_lookup(server, update)
}

/// Variables as large as the table (the table itself, moments) are sets of rows on a server.
fn declare_rows(server: &mut Server<'_>, update: &Update) -> Result<()> {
    let job = server.job;
    let table = job.var(&update.param)?.clone();
    // Ids spread unevenly: no server can tell from its own share that all together hold too many.
    let rows = table.shape.first().copied().unwrap_or(Dim::Any);
    let ops = update.ops.iter().map(|i| &job.main.global().ops[*i]);
    for name in ops.flat_map(|op| op.inputs.args().chain(op.outputs.args())) {
        let var = job.var(name)?;
        if var.shape == table.shape && *name != update.grad {
            let mut ty = var.ty().with_kind(VarKind::SelectedRows);
            ty.shape.0[0] = rows;
            let mut part = Var::new(name, ty);
            part.persistable = true;
            server.program.global_mut().set_var(part);
        }
    }
    Ok(())
}

fn add_lookup(server: &mut Server<'_>, update: &Update) -> Result<()> {
    let job = server.job;
    let table = job.var(&update.param)?;
    let [ids, rows] = ["ids", "rows"].map(|what| Name::from(format!("{}.{what}", update.param)));
    let width = table.shape.last().copied().unwrap_or(Dim::Any);
    let idx = server.program.add_block(0);
    let block = server.program.block_mut(idx);
    block.set_var(Var::new(&ids, VarType::tensor(DType::I64, Shape::from_i64(&[-1, 1]))));
    block.set_var(Var::new(&rows, VarType::tensor(table.ty().dtype, vec![Dim::Any, width])));
    let mut op = lookup_sparse_table(&update.param, &ids, &rows).attr("initializer", initializers(job, update));
    for rule in ["entry", "evict"] {
        let text = agreed(job, &update.param, rule)?;
        if !text.is_empty() {
            op = op.attr(rule, text);
        }
    }
    block.ops.push(with_role(op, Role::FORWARD, NO_VARS));
    server.prefetch_to_block.push(format!("{ids}:{idx}"));
    Ok(())
}

/// Which ids get a row, or which rows go, as the lookups of the table say.
fn agreed(job: &Job, table: &Name, rule: &str) -> Result<String> {
    let lookups = job.main.global().ops.iter().filter(|op| is_lookup(op) && op.inputs.get("W").contains(table));
    let mut entries: Vec<&str> = lookups.map(|op| text(op, rule)).collect();
    entries.sort_unstable();
    entries.dedup();
    match entries[..] {
        [] => Ok(String::new()),
        [entry] => Ok(entry.to_string()),
        [one, other, ..] => {
            let what = format!("lookups of table `{table}` differ in their `{rule}`: {one:?} and {other:?}");
            Err(Error::new(Kind::Argument, what).help(format!("give every embedding of one table the same `{rule}`")))
        }
    }
}

fn text<'a>(op: &'a Op, name: &str) -> &'a str {
    match op.attrs.get(name) {
        Some(Attr::String(text)) => text,
        _ => "",
    }
}

/// How the row of a new id, and its state, get their first values: `variable:operator&attribute=value&...`.
fn initializers(job: &Job, update: &Update) -> Vec<String> {
    let state: BTreeSet<&Name> = update.ops.iter().flat_map(|i| job.main.global().ops[*i].outputs.args()).collect();
    let ops = job.startup.global().ops.iter().filter_map(|op| {
        let out = op.outputs.args().find(|out| state.contains(out))?;
        Some((out, op))
    });
    let number = |op: &Op, name: &str| match op.attrs.get(name) {
        Some(Attr::Int(v)) => Some(format!("&{name}={v}")),
        Some(Attr::Float(v)) => Some(format!("&{name}={v}")),
        _ => None,
    };
    let text = |op: &Op| {
        ["seed", "min", "max", "mean", "std", "value"].iter().filter_map(|n| number(op, n)).collect::<String>()
    };
    ops.map(|(out, op)| format!("{out}:{}{}", op.op_type, text(op))).collect()
}

/// Does a variable grow row by row, so that a server's startup program leaves it out?
pub(super) fn grows(job: &Job, program: &Program, name: &Name) -> bool {
    !job.tables.is_empty() && program.global().var(name).is_some_and(|v| v.kind == VarKind::SelectedRows)
}
