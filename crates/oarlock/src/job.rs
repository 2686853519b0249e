//! The part of a process in a job: its connections to servers and ranks, what it has trained, and how it leaves.
//!
//! A process that does not say that it leaves does so when it ends; its exit status, which is known when all else is over, decides
//! whether the others go on without it or count it as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_collective::{GroupOptions, Groups, elastic, finish};
use oarlock_exec::Scope;
use oarlock_ir::{Program, Result, Runtime};
use oarlock_ps::PsState;
use oarlock_ps::client::ClientOptions;
use oarlock_ps::server::{ServerOptions, serve};
use oarlock_sys::at_exit;
use oarlock_transpile::ops::{WEIGHT, is_exchange};
use parking_lot::Mutex;
use tracing::warn;

use crate::fleet::{finish_checkpoint, stop_communicator};

/// How a process takes part in a job.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// If it runs a server's program.
    pub server: ServerOptions,
    /// If it is a trainer of parameter servers.
    pub client: ClientOptions,
    /// If it is a rank of collective workers.
    pub group: GroupOptions,
}

impl Default for JobOptions {
    fn default() -> JobOptions {
        JobOptions {
            server: ServerOptions::default(),
            client: ClientOptions::default(),
            group: GroupOptions::new(0, Vec::new()),
        }
    }
}

impl JobOptions {
    /// As the environment says.
    pub fn from_env() -> Result<JobOptions> {
        Ok(JobOptions {
            server: ServerOptions::from_env()?,
            client: ClientOptions::from_env()?,
            group: GroupOptions::from_env()?,
        })
    }
}

/// The part of a process in a job. All its executors share one.
pub struct JobRuntime {
    runtime: Arc<Runtime>,
    server: ServerOptions,
    /// Connections to parameter servers, and the communicator.
    servers: Arc<PsState>,
    /// Groups of collective workers.
    groups: Arc<Groups>,
    trained: Mutex<Option<Trained>>,
    /// The script is not expected to say that it leaves.
    quiet: AtomicBool,
}

/// A program that exchanges values with other ranks, and was trained last.
struct Trained {
    plans: Arc<oarlock_exec::Executor>,
    program: Program,
    scope: Scope,
}

impl JobRuntime {
    /// With `threads` compute threads.
    pub fn new(threads: usize, options: JobOptions) -> JobRuntime {
        let runtime = Arc::new(Runtime::new(threads));
        let (servers, groups) = (PsState::of(&runtime), Groups::of(&runtime));
        servers.set_options(options.client);
        groups.set_options(options.group);
        JobRuntime {
            runtime,
            server: options.server,
            servers,
            groups,
            trained: Mutex::default(),
            quiet: AtomicBool::new(false),
        }
    }

    /// The resources that operators find.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Is this process a trainer that is connected to parameter servers?
    pub fn is_connected(&self) -> bool {
        self.servers.client().is_some_and(|client| client.is_connected())
    }

    /// Is this process a rank of a group?
    pub fn has_ranks(&self) -> bool {
        self.groups.active().is_some()
    }

    /// Complete steps of synchronous training, those of an earlier process with this trainer's number included. Known after the
    /// startup program has run: a trainer that rejoins goes on from there.
    pub fn steps_done(&self) -> u64 {
        self.servers.client().map_or(0, |client| client.done())
    }

    pub(crate) fn serve(&self, plans: &oarlock_exec::Executor, program: &Program, scope: &Scope) -> Result<()> {
        serve(plans, program, scope, self.server.clone())
    }

    /// Runs one step: see [`crate::executor`].
    pub(crate) fn step<T>(
        &self,
        plans: &Arc<oarlock_exec::Executor>,
        program: &Program,
        scope: &Scope,
        mut work: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        if self.has_ranks() {
            self.note_trained(plans, program, scope);
        }
        elastic::run_step(&self.runtime, program, scope, || {
            self.servers.before_step(plans, program, scope)?;
            work()
        })
    }

    /// Remembers a program that exchanges values with other ranks: [`JobRuntime::close`] goes on with it.
    fn note_trained(&self, plans: &Arc<oarlock_exec::Executor>, program: &Program, scope: &Scope) {
        let mut trained = self.trained.lock();
        let same = |t: &Trained| {
            (t.program.id(), t.program.version()) == (program.id(), program.version()) && t.scope.is(scope)
        };
        if !trained.as_ref().is_some_and(same) && exchanges(program) {
            *trained = Some(Trained { plans: plans.clone(), program: program.clone(), scope: scope.clone() });
        }
    }

    /// Takes part in the steps of other ranks, without data and without weight, until no rank has data. Returns after how many steps
    /// that was; does nothing if this process trained nothing with other ranks.
    pub fn finish(&self) -> Result<u64> {
        let trained = self.trained.lock().take();
        match trained {
            Some(Trained { plans, program, scope }) if self.has_ranks() => finish(&plans, &program, &scope),
            _ => Ok(0),
        }
    }

    /// Ends the part of this process in its job: a rank whose data ended takes part in the steps of the others until theirs ends, a
    /// trainer sends what waits, and all are notified that this process leaves. False if there was no job to leave.
    pub fn close(&self) -> Result<bool> {
        self.finish()?;
        self.leave()
    }

    /// Sends what waits and tells servers, or ranks, that this process leaves. False if there was no job to leave.
    pub fn leave(&self) -> Result<bool> {
        // Servers end when all have left, and a checkpoint under way needs them.
        let sent = finish_checkpoint(&self.runtime).and(stop_communicator(&self.runtime));
        let was_rank = self.groups.leave();
        let Some(client) = self.servers.set_client(None).filter(|client| client.is_connected()) else {
            return sent.map(|()| was_rank);
        };
        // The servers are notified even if the last gradients were not taken.
        let left = client.leave();
        sent.and(left).map(|()| true)
    }

    /// Breaks all connections without a word, as a process does that is killed: the others do what their policy says.
    pub fn abandon(&self) {
        self.groups.abandon();
        if let Some(client) = self.servers.set_client(None) {
            client.abandon();
        }
    }

    /// A script of this process ended in an error: it is lost for the others of its job.
    pub fn end_in_error(&self) {
        if self.is_connected() {
            warn!("this trainer ends in an error; its servers count it as lost");
        }
        self.abandon();
    }

    /// A process that has not left before its end is no reason for a warning.
    pub fn end_quietly(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    /// Calls [`JobRuntime::end`] when this process ends. False where the system does not tell its status.
    pub fn end_with_process(self: &Arc<JobRuntime>) -> bool {
        let job = self.clone();
        at_exit(move |status| job.end(status))
    }

    /// Ends the part of this process in its job, if it still has one: with status 0 it leaves, with another it is lost.
    pub fn end(&self, status: i32) {
        let trains = self.is_connected();
        if !trains && !self.has_ranks() {
            return;
        }
        if status != 0 {
            warn!("this process ends with status {status}: for the others of its job it is lost");
            return self.abandon();
        }
        if trains && !self.quiet.load(Ordering::Relaxed) {
            warn!("this trainer ends without exe.close(); it leaves its servers now");
        }
        if let Err(e) = self.close() {
            warn!("{e}");
        }
    }
}

impl std::fmt::Debug for JobRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobRuntime").field("quiet", &self.quiet).finish_non_exhaustive()
    }
}

/// Was a program transpiled to train with other ranks? Its exchanges are weighted, so that a rank can take part without data.
fn exchanges(program: &Program) -> bool {
    let mut ops = program.blocks().iter().flat_map(|block| &block.ops);
    ops.any(|op| is_exchange(op) && op.attrs.get(WEIGHT).is_some())
}
