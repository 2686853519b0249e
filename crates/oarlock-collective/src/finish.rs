//! The end of a worker's data: it goes on without weight until nobody has any.

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Program, Result};

use crate::Rings;
use crate::elastic::run_step;
use oarlock_transpile::{LAST_AVERAGED, LOCAL_STEPS, zero_weight_step};

/// Takes part in the steps of the other workers of a group, without data and without weight, until all have come to the end of
/// their data. Parameters stay equal everywhere. `program` is what this worker trained in `scope`. Returns after how many steps
/// everybody was done; does nothing if this process belongs to no group, or if the program exchanges nothing.
pub fn finish(executor: &Executor, program: &Program, scope: &Scope) -> Result<u64> {
    let rings = Rings::of(executor.runtime());
    if rings.active().is_none() {
        return Ok(0);
    }
    let Some(step) = zero_weight_step(program)? else { return Ok(0) };
    let mut steps = 0;
    // What this worker learned since parameters were averaged last counts once.
    let mut own = step.catch_up.as_ref().filter(|_| has_steps_to_average(scope));
    loop {
        let exchange = own.take().unwrap_or(&step.exchange);
        run_step(executor.runtime(), program, scope, || executor.run(exchange, &[], &[], scope))?;
        let anybody = rings.active().is_some_and(|active| active > 0.0);
        if anybody || step.always_update {
            executor.run(&step.update, &[], &[], scope)?;
        }
        if !anybody {
            return Ok(steps);
        }
        steps += 1;
    }
}

fn has_steps_to_average(scope: &Scope) -> bool {
    let count = |name: &str| scope.tensor(name).and_then(|t| t.data::<i64>().ok()?.first().copied());
    count(LOCAL_STEPS) != count(LAST_AVERAGED)
}
