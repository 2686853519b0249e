//! Delay compensation: g + (p - p_old) * g * g, where p_old is the parameter as the trainer last fetched it.

use oarlock_ir::{Dim, Error, Kind, Name, Op, Program, Result, Role, Var, VarType};
use oarlock_tensor::DType;

use super::job::{Job, like};
use super::updates::Update;
use crate::ops::{NO_VARS, ref_by_trainer_id, with_role};
use crate::placement::VarBlock;

/// Set by the server before it runs a block: whose gradient arrived.
pub const TRAINER_ID: &str = "@TRAINER_ID@";

/// The copy of a parameter that a server has for each trainer.
pub fn backup(param: &Name, trainer: usize) -> Name {
    format!("{param}.trainer_{trainer}_bak").into()
}

/// Refuses what cannot be compensated: before any process of the job starts, so that none waits for another.
pub(super) fn check_dense(updates: &[Update]) -> Result<()> {
    let Some(update) = updates.iter().find(|update| update.sparse) else { return Ok(()) };
    let what = format!("DC-ASGD compensates dense gradients, and that of `{}` is row-sparse", update.param);
    Err(Error::new(Kind::Unsupported, what).help("switch `enable_dc_asgd` off, or set is_sparse=False"))
}

/// Adds the compensation to block `idx`; returns the variable that holds the compensated gradient.
pub(super) fn compensate(
    job: &Job,
    program: &mut Program,
    idx: usize,
    update: &Update,
    block: &VarBlock,
) -> Result<Name> {
    let (param, grad) = (block.name(), block.name_of(&update.grad));
    let whole = job.var(&update.param)?.clone();
    let backups: Vec<Name> = (0..job.trainers).map(|t| backup(&param, t)).collect();
    for name in &backups {
        program.global_mut().set_var(like(&whole, name, &block.dims, false));
    }
    let trainer: Name = TRAINER_ID.into();
    program.block_mut(idx).set_var(Var::new(&trainer, VarType::tensor(DType::I64, vec![Dim::Is(1)])));
    let mut local = |suffix: &str| -> Name {
        let name: Name = format!("{param}.{suffix}").into();
        program.block_mut(idx).set_var(like(&whole, &name, &block.dims, false));
        name
    };
    let [old, moved, once, twice, better] =
        ["local_bak", "moved", "moved_g", "moved_g_g", "compensated"].map(&mut local);
    let binary = |op: &str, x: &Name, y: &Name, out: &Name| {
        Op::new(op).input("X", [x]).input("Y", [y]).output("Out", [out]).attr("axis", -1)
    };
    let ops = [
        ref_by_trainer_id(backups, &trainer, &old),
        binary("elementwise_sub", &param, &old, &moved),
        binary("elementwise_mul", &moved, &grad, &once),
        binary("elementwise_mul", &once, &grad, &twice),
        binary("elementwise_add", &grad, &twice, &better),
    ];
    let ops = ops.map(|op| with_role(op, Role::FORWARD, NO_VARS));
    program.block_mut(idx).ops.extend(ops);
    Ok(better)
}
