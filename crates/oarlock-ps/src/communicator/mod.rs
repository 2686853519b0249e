//! Sends gradients and fetches parameters beside the computation, for trainers that do not wait for each other.
//!
//! `send` operators move their variables to it and go on. What happens then depends on the mode: [`async_queues`] (async) merges
//! what waits and exchanges it in a thread of its own; [`half_async`] (half-async and sync with several threads) lets the
//! threads of a trainer wait for each other, and makes one exchange of their mean; [`geo`] exchanges how far parameters moved.

mod async_queues;
mod geo;
mod half_async;
mod merge;

use std::sync::Arc;
use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ir::{Attr, Io, Op, Program, Result, Runtime};
use oarlock_transpile::GeoVar;

use async_queues::AsyncQueues;
use geo::Geo;
use half_async::HalfAsync;

pub use merge::Merge;
pub(crate) use merge::{add, divide};

use crate::PsState;
use crate::client::{Client, ReceivedVars};
use crate::op::Sends;

/// How a trainer exchanges gradients and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommunicatorMode {
    /// In the background, without waiting for other trainers.
    Async,
    /// The threads of this trainer wait for each other, and not for other trainers.
    HalfAsync,
    /// All trainers wait for each other.
    Sync,
    /// Parameters are trained here; after every `push_nums` steps servers get how far they moved (deltas).
    Geo {
        /// How many steps.
        push_nums: usize,
        /// The shared variables, and their locations.
        vars: Vec<GeoVar>,
    },
}

/// The knobs of a communicator, by the names of Fluid's `FLAGS_communicator_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunicatorOptions {
    /// How it exchanges.
    pub mode: CommunicatorMode,
    /// Which trainer this is.
    pub trainer: usize,
    /// How many there are.
    pub trainers: usize,
    /// The threads of this trainer, which wait for each other at each step.
    pub threads: usize,
    /// The most gradients of a variable that are merged into one.
    pub max_merge_var_num: usize,
    /// The most gradients of a variable that may wait; then training waits.
    pub send_queue_size: usize,
    /// Parameters are fetched by a thread of their own.
    pub independent_recv_thread: bool,
    /// Parameters are fetched after this number of gradients was sent.
    pub min_send_grad_num_before_recv: usize,
    /// How often to wait 10 ms for more gradients to merge.
    pub send_wait_times: usize,
    /// The way in which gradients are merged.
    pub merge: Merge,
}

impl Default for CommunicatorOptions {
    fn default() -> CommunicatorOptions {
        CommunicatorOptions {
            mode: CommunicatorMode::Async,
            trainer: 0,
            trainers: 1,
            threads: 1,
            max_merge_var_num: 1,
            send_queue_size: 1,
            independent_recv_thread: true,
            min_send_grad_num_before_recv: 1,
            send_wait_times: 5,
            merge: Merge::Mean,
        }
    }
}

/// How long one round of `send_wait_times` waits.
const WAIT: Duration = Duration::from_millis(10);

/// The communicator of a trainer; operators find it in their runtime.
pub struct Communicator(Form);

enum Form {
    AsyncQueues(AsyncQueues),
    HalfAsync(Box<HalfAsync>),
    Geo(Geo),
}

impl Communicator {
    /// For a trainer's program, whose parameters are in `scope`. Threads start with [`Communicator::start`].
    pub fn new(program: &Program, scope: &Scope, client: Arc<Client>, options: CommunicatorOptions) -> Communicator {
        Communicator(match options.mode.clone() {
            CommunicatorMode::Async => Form::AsyncQueues(AsyncQueues::new(program, client, options)),
            CommunicatorMode::HalfAsync | CommunicatorMode::Sync => {
                Form::HalfAsync(Box::new(HalfAsync::new(program, client, options)))
            }
            CommunicatorMode::Geo { push_nums, vars } => Form::Geo(Geo::new(vars, scope, client, &options, push_nums)),
        })
    }

    /// Starts to exchange.
    pub fn start(&self) -> Result<()> {
        match &self.0 {
            Form::AsyncQueues(queues) => queues.start(),
            Form::HalfAsync(_) => Ok(()),
            Form::Geo(geo) => geo.start(),
        }
    }

    /// Sends what waits, then stops. An error that a thread met is returned here, if no step has seen it.
    pub fn stop(&self) -> Result<()> {
        match &self.0 {
            Form::AsyncQueues(queues) => queues.stop(),
            Form::HalfAsync(_) => Ok(()),
            Form::Geo(geo) => geo.stop(),
        }
    }

    /// Is it exchanging?
    pub fn is_running(&self) -> bool {
        match &self.0 {
            Form::AsyncQueues(queues) => queues.is_running(),
            Form::HalfAsync(_) => true,
            Form::Geo(geo) => geo.is_running(),
        }
    }

    /// Sets the number of threads of this trainer, which wait for each other at the end of a step. Called while none of them runs.
    pub fn set_threads(&self, threads: usize) {
        if let Form::HalfAsync(half_async) = &self.0 {
            half_async.set_threads(threads);
        }
    }

    /// The threads of this trainer that wait for each other at the end of a step.
    pub(crate) fn threads(&self) -> usize {
        match &self.0 {
            Form::HalfAsync(half_async) => half_async.threads(),
            Form::AsyncQueues(_) | Form::Geo(_) => 1,
        }
    }

    /// Do the threads of this trainer make the steps that wait for the other trainers together?
    pub(crate) fn is_sync(&self) -> bool {
        matches!(&self.0, Form::HalfAsync(half_async) if half_async.is_sync())
    }

    /// For a program whose steps wait for the other trainers by themselves, and whose threads are to make these together.
    /// `None` if its steps do not, or a communicator makes them.
    pub fn for_threads(runtime: &Runtime, program: &Program, scope: &Scope, threads: usize) -> Option<Communicator> {
        let waits = |op: &&Op| op.op_type == "send_barrier" && op.attrs.get("half_async") != Some(&Attr::Bool(true));
        let barrier = program.global().ops.iter().find(waits)?;
        if threads < 2 || Communicator::of(runtime).is_some() {
            return None;
        }
        let trainer = match barrier.attrs.get("trainer_id") {
            Some(Attr::Int(id)) => usize::try_from(*id).ok()?,
            _ => 0,
        };
        let options = CommunicatorOptions { mode: CommunicatorMode::Sync, trainer, threads, ..Default::default() };
        Some(Communicator::new(program, scope, Client::of(runtime), options))
    }

    /// One thread of this trainer has no more data: the others no longer wait for it.
    pub fn thread_done(&self) -> Result<()> {
        match &self.0 {
            Form::HalfAsync(half_async) => half_async.thread_done(),
            Form::AsyncQueues(_) | Form::Geo(_) => Ok(()),
        }
    }

    /// Takes what an operator sends.
    pub(crate) fn take(&self, io: &Io<'_>, sends: &Sends) -> Result<()> {
        match &self.0 {
            Form::AsyncQueues(queues) => queues.take(io, sends),
            Form::HalfAsync(half_async) => half_async.take(io, sends),
            Form::Geo(geo) => geo.take(io, sends),
        }
    }

    /// Between two runs, when no operator holds the parameters.
    pub fn settle(&self) -> Result<()> {
        match &self.0 {
            Form::Geo(geo) => geo.settle(),
            Form::AsyncQueues(_) | Form::HalfAsync(_) => Ok(()),
        }
    }

    /// The end of a step of one thread.
    pub(crate) fn barrier(&self, runtime: &Runtime) -> Result<()> {
        match &self.0 {
            Form::HalfAsync(half_async) => half_async.barrier(runtime),
            Form::AsyncQueues(_) | Form::Geo(_) => Ok(()),
        }
    }

    /// Stores the newest parameters of these names in `received`, if there are newer ones than the last. True if this
    /// communicator receives such variables at all.
    pub(crate) fn latest(&self, names: &[String], received: &mut ReceivedVars) -> Result<bool> {
        match &self.0 {
            Form::AsyncQueues(queues) => queues.latest(names, received),
            Form::HalfAsync(_) => Ok(false),
            Form::Geo(_) => Ok(false),
        }
    }
}

impl Communicator {
    /// The communicator that a runtime has, if any.
    pub fn of(runtime: &Runtime) -> Option<Arc<Communicator>> {
        PsState::of(runtime).communicator()
    }
}
