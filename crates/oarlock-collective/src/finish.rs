//! The end of a rank's data: it goes on with zero-weight steps until no rank has data.

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Program, Result};

use crate::Groups;
use crate::elastic::run_step;
use oarlock_transpile::{LAST_AVERAGED, LOCAL_STEPS, zero_weight_step};

/// Takes part in the steps of the other ranks of a group, without data and with weight 0, until all ranks are at the end of their
/// data. Parameters stay equal everywhere. `program` is the one that this rank trained in `scope`. Returns the number of zero-weight
/// steps; does nothing if this process belongs to no group, or if the program exchanges nothing.
pub fn finish(executor: &Executor, program: &Program, scope: &Scope) -> Result<u64> {
    let groups = Groups::of(executor.runtime());
    if groups.active().is_none() {
        return Ok(0);
    }
    let Some(step) = zero_weight_step(program)? else { return Ok(0) };
    let mut steps = 0;
    // Steps of this rank since parameters were averaged last count once.
    let mut own = step.catch_up.as_ref().filter(|_| has_steps_to_average(scope));
    loop {
        let exchange = own.take().unwrap_or(&step.exchange);
        run_step(executor.runtime(), program, scope, || executor.run(exchange, &[], &[], scope))?;
        let any_active = groups.active().is_some_and(|active| active > 0.0);
        if any_active || step.always_update {
            executor.run(&step.update, &[], &[], scope)?;
        }
        if !any_active {
            return Ok(steps);
        }
        steps += 1;
    }
}

fn has_steps_to_average(scope: &Scope) -> bool {
    let count = |name: &str| scope.tensor(name).and_then(|t| t.data::<i64>().ok()?.first().copied());
    count(LOCAL_STEPS) != count(LAST_AVERAGED)
}
