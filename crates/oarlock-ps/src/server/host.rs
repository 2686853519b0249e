//! A server as the run of a program.

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Program, Result};

use super::updates::listen_op;
use super::{Server, ServerOptions};

/// Is this the program of a server? It has one operator, `listen_and_serv`.
pub fn is_server(program: &Program) -> bool {
    program.global().ops.len() == 1 && listen_op(program).is_ok()
}

/// Runs a server's program in a scope until every trainer has left.
pub fn serve(executor: &Executor, program: &Program, scope: &Scope, options: ServerOptions) -> Result<()> {
    let runtime = executor.runtime();
    executor.with_shared_profile(|| {
        let server = Server::start(program, scope, executor.options(), runtime, options)?;
        server.wait(|| runtime.stopping()).map(drop)
    })
}
