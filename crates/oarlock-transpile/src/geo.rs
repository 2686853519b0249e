//! GEO-SGD: every trainer trains on its own, optimizer included; now and then servers gather how far parameters moved.

use std::collections::BTreeSet;

use oarlock_ir::{Name, Op, Program, Result, Role, VarKind};

use super::job::{Dummies, Job, like, raw};
use super::lookup::is_lookup;
use super::server::owned;
use super::trainer_startup::fetch_parameters;
use crate::ops::{NO_VARS, Serve, listen_and_serv, send, strings, with_role};

/// The variables that a trainer sends once: its parameters are in place, and deltas count from here.
const PARAM_INIT: &str = "param_init";

/// The trainer's program: the whole program, and a note of the ids that it looked up.
pub(super) fn geo_trainer(job: &Job) -> Result<Program> {
    let mut program = job.main.clone();
    let tables: BTreeSet<&Name> = job.updates().iter().filter(|u| u.sparse).map(|u| &u.param).collect();
    let mut looked_up: Vec<(Name, Name)> = Vec::new();
    for op in &mut program.global_mut().ops {
        if op.attrs.get("remote_prefetch").is_some() {
            // Rows are read and changed here; the servers only learn of it later.
            op.attrs.set("remote_prefetch", false);
        }
        let pairs = op.inputs.get("Ids").iter().zip(op.inputs.get("W"));
        let new = pairs
            .map(|(ids, table)| (ids.clone(), table.clone()))
            .filter(|(_, table)| is_lookup(op) && tables.contains(table));
        for pair in new {
            if !looked_up.contains(&pair) {
                looked_up.push(pair);
            }
        }
    }
    let (ids, tables): (Vec<Name>, Vec<Name>) = looked_up.into_iter().unzip();
    let dummy = Dummies::default().make(&mut program);
    notify(job, &mut program, ids, &dummy, &tables);
    Ok(program)
}

/// The trainer's startup program: as on one machine, then the servers' values, tables included.
pub(super) fn geo_trainer_startup(job: &Job) -> Result<Program> {
    let mut program = job.startup.clone();
    let mut dummies = Dummies::default();
    fetch_parameters(job, &mut program, &mut dummies, job.updates().iter())?;
    let init: Name = PARAM_INIT.into();
    program.global_mut().set_var(raw(&init));
    let dummy = dummies.make(&mut program);
    notify(job, &mut program, vec![init.clone()], &dummy, &[init]);
    Ok(program)
}

/// A `send` that only reaches the trainer's own communicator.
fn notify(job: &Job, program: &mut Program, variables: Vec<Name>, dummy: &Name, names: &[Name]) {
    let op = send(variables, dummy, Vec::new(), job.trainer_attr()).attr("send_varnames", strings(names));
    program.global_mut().ops.push(with_role(op, Role::RPC, NO_VARS));
}

/// A server's program: every block adds a delta to a parameter.
pub(super) fn geo_server(job: &Job, server: usize) -> Result<Program> {
    let mut program = Program::new();
    program.random_seed = job.main.random_seed;
    let (mut blocks, mut grad_to_block, mut sparse) = (Vec::new(), Vec::new(), Vec::new());
    for (update, block) in owned(job, server) {
        let (param, delta): (Name, Name) = (block.name(), format!("{}.delta", block.name()).into());
        let whole = job.var(&update.param)?;
        program.global_mut().set_var(like(whole, &param, &block.dims, true));
        let mut moved = like(whole, &delta, &block.dims, false);
        if update.sparse {
            moved.kind = VarKind::SelectedRows;
            sparse.push(format!("{delta}:{param}"));
        }
        program.global_mut().set_var(moved);
        let idx = program.add_block(0);
        let sum = Op::new("sum").input("X", [&param, &delta]).output("Out", [&param]);
        program.block_mut(idx).ops.push(with_role(sum, Role::FORWARD, NO_VARS));
        blocks.push(idx);
        grad_to_block.push(format!("{delta}:{idx}"));
    }
    if blocks.is_empty() {
        blocks.push(program.add_block(0));
    }
    let serve = Serve {
        received: Vec::new(),
        endpoint: job.placement.servers()[server].clone(),
        server: server as i32,
        servers: job.placement.servers().len(),
        trainers: job.trainers as i32,
        mode: job.traffic.server_mode,
        optimize_blocks: blocks,
        grad_to_block,
        sparse_grad_to_param: sparse,
        prefetch_to_block: Vec::new(),
        lr_block: None,
        step_notices: Vec::new(),
        rates: Vec::new(),
        dc_asgd: false,
        max_staleness: None,
        fingerprint: job.fingerprint(),
    };
    program.global_mut().ops.push(with_role(listen_and_serv(serve), Role::FORWARD, NO_VARS));
    Ok(program)
}
