//! How much memory the parameters of a training program take on each server.

use std::fs;
use std::path::Path;

use oarlock_ir::{Error, Kind, Program, Registry, Result, Var, VarKind};
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers};

use super::plan::Plan;

/// Bytes of parameters and of what the optimizer keeps of them, for each server of the plan, if the training program in `file`
/// (with its optimizer) is partitioned as Fluid's default settings say; `registry` knows its operators. Hashed tables grow as ids appear and
/// are not counted.
pub fn server_bytes(plan: &Plan, file: &Path, registry: &Registry) -> Result<Vec<u64>> {
    let Some(cluster) = plan.ranks.first().filter(|cluster| !cluster.servers.is_empty()) else { return Ok(Vec::new()) };
    let bytes = fs::read(file)
        .map_err(|e| Error::new(Kind::Io, format!("the program {} cannot be read: {e}", file.display())))?;
    let mut program = Program::from_bytes(&bytes)?;
    let mut startup_program = declarations(&program);
    let mut transpiler = DistributeTranspiler::new(Config::fluid());
    transpiler.transpile(Arguments {
        registry,
        trainer_id: 0,
        program: &mut program,
        startup_program: &mut startup_program,
        pservers: &cluster.servers.join(","),
        trainers: Trainers::Count(cluster.workers),
        sync_mode: true,
        current_endpoint: &cluster.servers[0],
        slice_var_up: None,
        split_method: None,
    })?;
    cluster.servers.iter().map(|server| transpiler.get_pserver_program(server).map(|program| kept(&program))).collect()
}

/// A startup program that initializes nothing, for a program whose own is not known.
fn declarations(program: &Program) -> Program {
    let mut startup = Program::new();
    for var in program.global().vars.values().filter(|var| var.persistable) {
        startup.global_mut().set_var(var.clone());
    }
    startup
}

/// Bytes of the variables that a server's program keeps from step to step. Rows that arrive are gone after the step.
fn kept(program: &Program) -> u64 {
    let size = |var: &Var| Some(var.shape.numel()? as u64 * var.ty().dtype.size() as u64);
    let stays = |var: &&Var| var.persistable && var.kind == VarKind::Tensor;
    program.global().vars.values().filter(stays).filter_map(size).sum()
}
