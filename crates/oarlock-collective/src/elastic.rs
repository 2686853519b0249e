//! Elastic training: when a rank dies, the ranks that are left form the group again, take the variables of the rank that has made most
//! steps, and repeat the step. Parameters are the same on all ranks, so nothing is lost.

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Name, Program, Result, Runtime, VarKind};
use oarlock_tensor::Value;

use crate::Groups;
use oarlock_transpile::ops::is_exchange;

/// How often a step is repeated before the error is returned: every time at least one rank was lost.
const TRIES: usize = 16;

/// Makes a step of a program. In an elastic group a step that failed because a rank was lost is repeated by the ranks that are left,
/// and a restarted rank rejoins between two steps.
pub fn run_step<T>(
    runtime: &Runtime,
    program: &Program,
    scope: &Scope,
    mut step: impl FnMut() -> Result<T>,
) -> Result<T> {
    let groups = Groups::of(runtime);
    if !groups.is_elastic() || !program.blocks().iter().flat_map(|block| &block.ops).any(is_exchange) || joins(program)
    {
        return step();
    }
    let mut tries = 0;
    loop {
        let run = groups.admit_rejoining().and_then(|()| synchronise(&groups, program, scope)).and_then(|()| step());
        match run {
            Err(e) if e.kind() == Kind::Network && tries < TRIES && groups.recover()? => tries += 1,
            run => return run,
        }
    }
}

/// Is it a startup program? The group is not joined before it runs.
fn joins(program: &Program) -> bool {
    program.global().ops.iter().any(|op| matches!(op.op_type.as_str(), "c_comm_init" | "gen_nccl_id"))
}

/// Makes persistable variables the same on all ranks, if the group was formed again: parameters, optimizer state, counters.
fn synchronise(groups: &Groups, program: &Program, scope: &Scope) -> Result<()> {
    let kept = program.global().vars.values().filter(|var| var.persistable && var.kind == VarKind::Tensor);
    let mut names: Vec<Name> = kept.map(|var| var.name.clone()).collect();
    names.sort_unstable();
    groups.synchronise(|broadcast| {
        for name in &names {
            let Some(var) = scope.find(name) else { continue };
            let mut value = var.write();
            let Value::Dense(tensor) = &mut *value else {
                return Err(Error::new(Kind::Missing, format!("`{name}` has no value to send to the other ranks"))
                    .help("run the startup program first"));
            };
            let dtype = tensor.dtype();
            broadcast(name, dtype, tensor.bytes_mut())?;
        }
        Ok(())
    })
}
