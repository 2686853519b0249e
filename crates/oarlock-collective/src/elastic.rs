//! Runs that go on when a worker dies: those who are left form the group anew, take the values of the one that came furthest, and
//! repeat the step. Parameters are the same everywhere, so nothing is lost.

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Name, Program, Result, Runtime, VarKind};
use oarlock_tensor::Value;

use crate::Rings;
use oarlock_transpile::ops::is_exchange;

/// How often a step is repeated before the error is the user's: every time at least one worker was lost.
const TRIES: usize = 16;

/// Makes a step of a program. In an elastic group a step that failed because a worker was lost is repeated by those that are left,
/// and a worker that rejoins is let in between two steps.
pub fn run_step<T>(
    runtime: &Runtime,
    program: &Program,
    scope: &Scope,
    mut step: impl FnMut() -> Result<T>,
) -> Result<T> {
    let rings = Rings::of(runtime);
    if !rings.is_elastic() || !program.blocks().iter().flat_map(|block| &block.ops).any(is_exchange) || joins(program) {
        return step();
    }
    let mut tries = 0;
    loop {
        let run = rings.let_in().and_then(|()| synchronise(&rings, program, scope)).and_then(|()| step());
        match run {
            Err(e) if e.kind() == Kind::Network && tries < TRIES && rings.recover()? => tries += 1,
            run => return run,
        }
    }
}

/// Does a program join the workers? It is a startup program: they are not joined before it runs.
fn joins(program: &Program) -> bool {
    program.global().ops.iter().any(|op| matches!(op.op_type.as_str(), "c_comm_init" | "gen_nccl_id"))
}

/// Makes what outlives steps the same everywhere, if the group was formed anew: parameters, optimizer state, counters.
fn synchronise(rings: &Rings, program: &Program, scope: &Scope) -> Result<()> {
    let kept = program.global().vars.values().filter(|var| var.persistable && var.kind == VarKind::Tensor);
    let mut names: Vec<Name> = kept.map(|var| var.name.clone()).collect();
    names.sort_unstable();
    rings.synchronise(|hand_over| {
        for name in &names {
            let Some(var) = scope.find(name) else { continue };
            let mut value = var.write();
            let Value::Dense(tensor) = &mut *value else {
                return Err(Error::new(Kind::Missing, format!("`{name}` has no value that others could have"))
                    .help("run the startup program first"));
            };
            let dtype = tensor.dtype();
            hand_over(name, dtype, tensor.bytes_mut())?;
        }
        Ok(())
    })
}
