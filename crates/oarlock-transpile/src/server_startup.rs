//! A server's startup program: the initializers of what lives on it.
//!
//! A block of a parameter gets the values that the parameter has on one machine: it is initialized whole and partitioned, unless
//! all its elements are alike.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use oarlock_ir::{Name, Op, Program, Result, Role};

use super::dc_asgd::backup;
use super::job::{Job, known_dims, like, rename_args};
use super::server::{names, owned};
use super::table::grows;
use crate::ops::{NO_VARS, with_role};
use crate::placement::VarBlock;

/// A variable on a server: its name there, and which block it is of the original.
type Copies<'a> = Vec<(Name, &'a VarBlock)>;

/// The startup program that belongs to a server's program.
pub(super) fn server_startup(job: &Job, server: usize, program: &Program) -> Result<Program> {
    let mut startup = Program::new();
    startup.random_seed = job.startup.random_seed;
    let copies = copies(job, server, program);
    for op in needed(job, program, &copies) {
        initialize(job, op, &copies, program, &mut startup)?;
    }
    if job.traffic.dc_asgd {
        add_backups(job, server, &mut startup)?;
    }
    Ok(startup)
}

/// The variables of the server and those that they come from; variables without an entry have their own name and size.
fn copies<'a>(job: &'a Job, server: usize, program: &Program) -> IndexMap<Name, Copies<'a>> {
    let mut copies: IndexMap<Name, Copies<'a>> = IndexMap::new();
    for (update, block) in owned(job, server) {
        for (original, name) in names(job, server, update, block) {
            if program.global().var(&name).is_some_and(|v| v.persistable) {
                copies.entry(original).or_default().push((name, block));
            }
        }
    }
    copies
}

/// The operators of the startup program that lead to something on the server.
fn needed<'a>(job: &'a Job, program: &Program, copies: &IndexMap<Name, Copies<'_>>) -> Vec<&'a Op> {
    let mut wanted: BTreeSet<Name> = program.global().vars.keys().chain(copies.keys()).cloned().collect();
    wanted.retain(|name| !grows(job, program, name));
    let mut ops: Vec<&Op> = Vec::new();
    for op in job.startup.global().ops.iter().rev() {
        if op.outputs.args().any(|out| wanted.contains(out)) {
            wanted.extend(op.inputs.args().cloned());
            ops.push(op);
        }
    }
    ops.reverse();
    ops
}

fn initialize(
    job: &Job,
    op: &Op,
    copies: &IndexMap<Name, Copies<'_>>,
    program: &Program,
    startup: &mut Program,
) -> Result<()> {
    let out = op.outputs.args().find_map(|out| copies.get_key_value(out));
    let Some((original, copies)) = out else {
        declare_args(job, op, startup);
        startup.global_mut().ops.push(op.clone());
        return Ok(());
    };
    let whole = startup_dims(job, original);
    let mut initialized = false;
    for (name, block) in copies {
        let var = program.expect_var(0, name)?;
        let dims = known_dims(var)?;
        startup.global_mut().set_var(like(var, name, &dims, true));
        if whole.as_ref().is_none_or(|whole| *whole == dims) {
            startup.global_mut().ops.push(renamed(op, original, name));
        } else if op.op_type == "fill_constant" {
            let shape: Vec<i64> = dims.iter().map(|d| *d as i64).collect();
            startup.global_mut().ops.push(renamed(op, original, name).attr("shape", shape));
        } else {
            if !std::mem::replace(&mut initialized, true) {
                declare_args(job, op, startup);
                startup.global_mut().ops.push(op.clone());
                if let Some(var) = startup.global_mut().vars.get_mut(original) {
                    // Only until its block is taken out of it.
                    var.persistable = false;
                }
            }
            startup.global_mut().ops.push(part(original, name, block));
        }
    }
    Ok(())
}

fn renamed(op: &Op, from: &Name, to: &Name) -> Op {
    let mut op = op.clone();
    rename_args(&mut op, from, to);
    op
}

fn startup_dims(job: &Job, name: &Name) -> Option<Vec<usize>> {
    job.startup.global().var(name)?.shape.iter().map(|d| d.known()).collect()
}

/// The rows of a block.
fn part(whole: &Name, name: &Name, block: &VarBlock) -> Op {
    // Fluid's attributes hold 32-bit numbers, as those of every `slice`.
    let (start, end) = (block.first_row as i32, (block.first_row + block.rows()) as i32);
    let op = Op::new("slice")
        .input("Input", [whole])
        .output("Out", [name])
        .attr("axes", vec![0])
        .attr("starts", vec![start])
        .attr("ends", vec![end])
        .attr("infer_flags", vec![1])
        .attr("decrease_axis", Vec::<i32>::new());
    with_role(op, Role::FORWARD, NO_VARS)
}

fn declare_args(job: &Job, op: &Op, startup: &mut Program) {
    for arg in op.inputs.args().chain(op.outputs.args()) {
        if let Some(var) = job.startup.global().var(arg).filter(|_| startup.global().var(arg).is_none()) {
            startup.global_mut().set_var(var.clone());
        }
    }
}

/// Every trainer starts from the first values.
fn add_backups(job: &Job, server: usize, startup: &mut Program) -> Result<()> {
    for (update, block) in owned(job, server) {
        let param = block.name();
        for trainer in 0..job.trainers {
            let name = backup(&param, trainer);
            startup.global_mut().set_var(like(job.var(&update.param)?, &name, &block.dims, true));
            let op = Op::new("assign").input("X", [&param]).output("Out", [&name]);
            startup.global_mut().ops.push(with_role(op, Role::FORWARD, NO_VARS));
        }
    }
    Ok(())
}
