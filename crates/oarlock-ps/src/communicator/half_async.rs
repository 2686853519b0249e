//! Half-async, and sync with several threads: the threads of a trainer wait for each other at the end of a step (barrier), and the
//! last to arrive sends the mean of their gradients and fetches parameters for all.

use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::{Error, Io, Kind, Program, Result, Runtime};
use oarlock_tensor::Value;
use parking_lot::{Condvar, Mutex};

use super::merge::{add, divide};
use super::{CommunicatorMode, CommunicatorOptions};
use crate::client::{Client, ReceivedVars, RowFetch, WantedVars};
use crate::op::{Sends, copy, servers, wants};
use oarlock_net::now;

pub(super) struct HalfAsync {
    client: Arc<Client>,
    options: CommunicatorOptions,
    wants: WantedVars,
    servers: Vec<String>,
    barrier: Mutex<ThreadBarrier>,
    changed: Condvar,
}

/// The step that threads are in.
struct ThreadBarrier {
    /// Threads that still train.
    threads: usize,
    /// Threads that wait.
    waiting: usize,
    /// Complete barriers.
    completed: u64,
    /// The gradients of this step, by operator: the sum of each variable, and the number of its threads.
    sent: Vec<(Arc<Sends>, Vec<Value>, usize)>,
    /// The rows that the waiting threads will look up next.
    prefetch: Vec<Arc<Mutex<RowFetch>>>,
    /// The variables of the last exchange.
    received: ReceivedVars,
    failed: Option<Error>,
}

/// How long a thread waits for the other threads of its process.
const TIMEOUT: Duration = Duration::from_secs(600);

impl HalfAsync {
    pub(super) fn new(program: &Program, client: Arc<Client>, options: CommunicatorOptions) -> HalfAsync {
        let barrier = ThreadBarrier {
            threads: options.threads.max(1),
            waiting: 0,
            completed: 0,
            sent: Vec::new(),
            prefetch: Vec::new(),
            received: ReceivedVars::default(),
            failed: None,
        };
        HalfAsync {
            client,
            wants: wants(program),
            servers: servers(program),
            options,
            barrier: Mutex::new(barrier),
            changed: Condvar::new(),
        }
    }

    /// Do the trainers wait for each other?
    pub(super) fn is_sync(&self) -> bool {
        self.options.mode == CommunicatorMode::Sync
    }

    /// Adds a thread's gradients to the step.
    pub(super) fn take(&self, io: &Io<'_>, sends: &Sends) -> Result<()> {
        let values = sends.inputs.iter().map(|(x, _)| io.value(*x)).collect::<Result<Vec<_>>>()?;
        let mut barrier = self.barrier.lock();
        let at = match barrier.sent.iter().position(|(s, ..)| s.inputs[0].1 == sends.inputs[0].1) {
            Some(at) => at,
            None => {
                let rooms = values.iter().map(|_| Value::Empty).collect();
                barrier.sent.push((Arc::new(sends.clone()), rooms, 0));
                barrier.sent.len() - 1
            }
        };
        let (_, all, count) = &mut barrier.sent[at];
        *count += 1;
        // Variables for all servers, the count of a step or its learning rate, are sent once for the threads that make the step together.
        let alone = *count == 1 || sends.to_all;
        let mut both = all.iter_mut().zip(&values);
        both.try_for_each(|(all, value)| if alone { copy(value, all) } else { add(all, value) })
    }

    /// Waits for the other threads; the last one makes the exchange.
    pub(super) fn barrier(&self, runtime: &Runtime) -> Result<()> {
        let prefetch = self.client.prefetch(runtime);
        let mut barrier = self.barrier.lock();
        let this = barrier.completed;
        barrier.prefetch.extend(prefetch);
        barrier.waiting += 1;
        if barrier.waiting >= barrier.threads {
            self.complete(&mut barrier);
        }
        let deadline = now() + TIMEOUT;
        while barrier.completed == this {
            if self.changed.wait_until(&mut barrier, deadline).timed_out() {
                let missing = barrier.threads.saturating_sub(barrier.waiting);
                return Err(Error::new(
                    Kind::Timeout,
                    format!("{missing} threads of this trainer did not end their step"),
                )
                .help("threads that have no more data must say so"));
            }
        }
        if let Some(e) = &barrier.failed {
            return Err(e.clone());
        }
        self.client.step().lock().received.copy_all(&barrier.received)
    }

    /// Threads that train.
    pub(super) fn threads(&self) -> usize {
        self.barrier.lock().threads
    }

    /// Sets the number of threads that train from now on.
    pub(super) fn set_threads(&self, threads: usize) {
        self.barrier.lock().threads = threads.max(1);
    }

    /// A thread has no more data.
    pub(super) fn thread_done(&self) -> Result<()> {
        let mut barrier = self.barrier.lock();
        barrier.threads = barrier.threads.saturating_sub(1);
        if barrier.waiting > 0 && barrier.waiting >= barrier.threads {
            self.complete(&mut barrier);
        }
        barrier.failed.clone().map_or(Ok(()), Err)
    }

    fn complete(&self, barrier: &mut ThreadBarrier) {
        if let Err(e) = self.exchange(barrier) {
            barrier.failed.get_or_insert(e);
        }
        barrier.waiting = 0;
        barrier.completed += 1;
        self.changed.notify_all();
    }

    fn exchange(&self, barrier: &mut ThreadBarrier) -> Result<()> {
        let step = self.client.step();
        {
            let mut step = step.lock();
            for (sends, all, count) in barrier.sent.iter_mut().filter(|(_, _, count)| *count > 0) {
                if !sends.adds && !sends.to_all {
                    all.iter_mut().for_each(|all| divide(all, *count, sends.counts));
                }
                sends.queue_values(&all.iter().collect::<Vec<_>>(), &mut step)?;
                *count = 0;
            }
        }
        let servers = self.is_sync().then_some(&self.servers[..]);
        let prefetch = std::mem::take(&mut barrier.prefetch);
        self.client.exchange(self.options.trainer as u32, servers, &self.wants, &prefetch)?;
        let version = barrier.completed + 1;
        barrier.received.take_all(&mut step.lock().received, version);
        Ok(())
    }
}
