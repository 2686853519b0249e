//! Serves when an executor is given a server's program.

use oarlock_exec::{Executor, ProgramHost, Scope};
use oarlock_ir::{Program, Result};

use super::updates::listen_op;
use super::{Server, ServerOptions};

/// Serves when an executor is given a server's program, until every trainer has left.
pub struct ServerHost {
    options: ServerOptions,
}

impl ServerHost {
    /// With these options.
    pub fn new(options: ServerOptions) -> ServerHost {
        ServerHost { options }
    }
}

impl ProgramHost for ServerHost {
    fn hosts(&self, program: &Program) -> bool {
        listen_op(program).is_ok()
    }

    fn run(&self, executor: &Executor, program: &Program, scope: &Scope) -> Result<()> {
        let runtime = executor.runtime();
        executor.with_shared_profile(|| {
            let server = Server::start(program, scope, executor.options(), runtime, self.options.clone())?;
            server.wait(|| runtime.stopping()).map(drop)
        })
    }
}
