//! Parameters of a trainer without which others made steps, because it had no data: they are fetched before it runs anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Attr, Name, Op, Program, Result};
use parking_lot::Mutex;

use crate::client::Client;
use oarlock_transpile::empty_dead_blocks;

/// Fetches parameters before a run of whatever program, into the scope in which this process trains.
#[derive(Default)]
pub(crate) struct Refresh {
    trained: Mutex<Option<Trained>>,
}

/// The program that was trained last, and how its parameters are fetched.
struct Trained {
    program: (u64, u64),
    fetch: Arc<Program>,
    scope: Scope,
}

impl Refresh {
    /// Fetches parameters into the scope in which this process trains, if servers made steps without it.
    pub(crate) fn before_step(
        &self,
        client: &Client,
        executor: &Executor,
        program: &Program,
        scope: &Scope,
    ) -> Result<()> {
        self.look_at(program, scope);
        if !client.take_behind() {
            return Ok(());
        }
        let trained = self.trained.lock().as_ref().map(|t| (t.fetch.clone(), t.scope.clone()));
        // One that has not trained yet fetches parameters in its startup program.
        let Some((fetch, scope)) = trained else { return Ok(()) };
        executor.run(&fetch, &[], &[], &scope).map(drop).inspect_err(|_| client.still_behind())
    }

    /// Remembers a program whose steps wait for the other trainers.
    fn look_at(&self, program: &Program, scope: &Scope) {
        let is = (program.id(), program.version());
        let mut trained = self.trained.lock();
        if trained.as_ref().is_some_and(|t| t.program == is && t.scope.is(scope)) {
            return;
        }
        if program.global().ops.iter().any(|op| op.op_type == "send_barrier") {
            *trained = Some(Trained { program: is, fetch: Arc::new(fetches(program)), scope: scope.clone() });
        }
    }
}

/// The part of a trainer's program that fetches parameters and joins those that were partitioned.
fn fetches(program: &Program) -> Program {
    let runs = |op: &&Op| op.op_type == "recv" && op.attrs.get("do_not_run") != Some(&Attr::Int(1));
    let ops = &program.global().ops;
    let mut fetched: Vec<Op> = ops.iter().filter(runs).cloned().collect();
    fetched.iter_mut().for_each(|op| op.inputs = Default::default());
    let names: BTreeSet<Name> = fetched.iter().flat_map(|op| op.outputs.args().cloned()).collect();
    let joins = |op: &&Op| op.op_type == "concat" && op.inputs.args().all(|name| names.contains(name));
    let joined: Vec<Op> = ops.iter().filter(joins).cloned().collect();
    fetched.extend(joined);
    let mut program = program.clone();
    program.global_mut().ops = fetched;
    empty_dead_blocks(&mut program);
    program
}
