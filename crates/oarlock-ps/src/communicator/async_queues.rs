//! Async: gradients wait in queues, a thread merges and sends them, new parameters arrive with the reply or by a
//! thread of their own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Io, Kind, Name, Program, Result};
use oarlock_tensor::Value;
use parking_lot::{Condvar, Mutex};

use super::merge::{Merge, divide, join};
use super::{CommunicatorOptions, WAIT};
use crate::client::{Client, ReceivedVars, WantedVars};
use crate::op::{Sends, handed_over, tells_rates, wants};
use oarlock_net::now;
use oarlock_net::spawn;

pub(super) struct AsyncQueues {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    client: Arc<Client>,
    options: CommunicatorOptions,
    wants: WantedVars,
    /// The number of variables of a step.
    variables: usize,
    /// The learning rate changes: what belongs to one step leaves in one push, and is applied at the rate of that step.
    in_steps: bool,
    state: Mutex<State>,
    /// Something waits, something was sent, or it is time to stop.
    changed: Condvar,
    /// Parameters are due, or it is time to stop.
    due: Condvar,
}

#[derive(Default)]
struct State {
    queues: Vec<Queue>,
    running: bool,
    stopping: bool,
    /// Threads that wait for a place in a full queue.
    waiting: usize,
    /// How many gradients of the first variable were sent since parameters were last fetched.
    sent: usize,
    /// The newest parameters.
    fetched: ReceivedVars,
    /// Grows each time parameters are fetched.
    version: u64,
    failed: Option<Error>,
}

/// Gradients of one variable that wait.
struct Queue {
    name: Name,
    sends: Arc<Sends>,
    waiting: VecDeque<Value>,
    /// Places of those that threads are putting into it.
    coming: usize,
    since: Option<Instant>,
    /// Values whose memory serves the next ones.
    spare: Vec<Value>,
}

/// Gradients that were taken out of a queue.
struct Taken {
    queue: usize,
    sends: Arc<Sends>,
    values: Vec<Value>,
    /// Memory for their sum.
    room: Value,
}

/// How long a trainer waits for a place in a full queue.
const TIMEOUT: Duration = Duration::from_secs(180);

impl AsyncQueues {
    pub(super) fn new(program: &Program, client: Arc<Client>, options: CommunicatorOptions) -> AsyncQueues {
        let shared = Shared {
            client,
            options,
            wants: wants(program),
            variables: handed_over(program),
            in_steps: tells_rates(program),
            state: Mutex::default(),
            changed: Condvar::new(),
            due: Condvar::new(),
        };
        AsyncQueues { shared: Arc::new(shared), threads: Mutex::default() }
    }

    pub(super) fn start(&self) -> Result<()> {
        let mut state = self.shared.state.lock();
        if state.running {
            return Ok(());
        }
        state.running = true;
        state.stopping = false;
        drop(state);
        let mut threads = self.threads.lock();
        let shared = self.shared.clone();
        threads.push(spawn("oarlock-send", "the communicator", move || shared.send_loop())?);
        if self.shared.options.independent_recv_thread && !self.shared.wants.is_empty() {
            let shared = self.shared.clone();
            threads.push(spawn("oarlock-recv", "the communicator", move || shared.recv_loop())?);
        }
        Ok(())
    }

    pub(super) fn stop(&self) -> Result<()> {
        self.shared.state.lock().stopping = true;
        self.shared.changed.notify_all();
        self.shared.due.notify_all();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
        let mut state = self.shared.state.lock();
        state.running = false;
        state.failed.take().map_or(Ok(()), Err)
    }

    pub(super) fn is_running(&self) -> bool {
        self.shared.state.lock().running
    }

    /// Lays a gradient into its queue; waits while that is full.
    pub(super) fn take(&self, io: &Io<'_>, sends: &Sends) -> Result<()> {
        let shared = &self.shared;
        let name = &sends.inputs[0].1;
        let mut state = shared.state.lock();
        let at = match state.queues.iter().position(|q| q.name == *name) {
            Some(at) => at,
            None => {
                state.queues.push(Queue::new(name, sends));
                state.queues.len() - 1
            }
        };
        let deadline = now() + TIMEOUT;
        while state.queues[at].waiting.len() + state.queues[at].coming >= shared.options.send_queue_size.max(1) {
            if let Some(e) = &state.failed {
                return Err(e.clone());
            }
            if io.runtime().stopping() {
                return Err(Error::new(Kind::Interrupted, "the run was interrupted"));
            }
            if now() > deadline || !state.running {
                return Err(full(name, shared.options.send_queue_size, state.running));
            }
            state.waiting += 1;
            shared.changed.notify_all();
            shared.changed.wait_for(&mut state, Duration::from_millis(100));
            state.waiting -= 1;
        }
        if let Some(e) = &state.failed {
            return Err(e.clone());
        }
        let mut held = state.queues[at].spare.pop().unwrap_or_default();
        state.queues[at].coming += 1;
        // Without the lock: other threads queue theirs meanwhile.
        drop(state);
        let given = sends.give(io, &mut held);
        let mut state = shared.state.lock();
        state.queues[at].coming -= 1;
        given?;
        state.queues[at].waiting.push_back(held);
        state.queues[at].since.get_or_insert_with(now);
        shared.changed.notify_all();
        Ok(())
    }

    /// The newest parameters, if they are newer than those returned last.
    pub(super) fn latest(&self, names: &[String], received: &mut ReceivedVars) -> Result<bool> {
        let state = self.shared.state.lock();
        if let Some(e) = &state.failed {
            return Err(e.clone());
        }
        for name in names {
            received.copy_newer(name, &state.fetched)?;
        }
        Ok(true)
    }
}

impl Queue {
    fn new(name: &Name, sends: &Sends) -> Queue {
        let sends = Arc::new(sends.clone());
        Queue { name: name.clone(), sends, waiting: VecDeque::new(), coming: 0, since: None, spare: Vec::new() }
    }
}

#[cold]
fn full(name: &Name, size: usize, running: bool) -> Error {
    if !running {
        return Error::new(
            Kind::Argument,
            format!("the communicator does not run, and {size} gradients of `{name}` wait"),
        )
        .help("call fleet.init_worker() before training and fleet.stop_worker() after it");
    }
    Error::new(
        Kind::Timeout,
        format!("{size} gradients of `{name}` wait, and none was sent in {} s", TIMEOUT.as_secs()),
    )
    .help("see whether the servers are alive and not overloaded")
}

impl Shared {
    fn send_loop(&self) {
        while let Some((merged, count)) = self.next_batch() {
            let done = self.send(&merged, count);
            let mut state = self.state.lock();
            match done {
                Ok(fetched) => state.sent += if fetched { 0 } else { count },
                Err(e) => {
                    state.failed.get_or_insert(e);
                    break;
                }
            }
            for (at, value) in merged {
                state.queues[at].spare.push(value);
            }
            if state.sent >= self.options.min_send_grad_num_before_recv {
                self.due.notify_all();
            }
            self.changed.notify_all();
        }
        self.changed.notify_all();
    }

    /// Waits until gradients are there, and a little longer for more of them; merges them. `None` when it is time to stop.
    fn next_batch(&self) -> Option<(Vec<(usize, Value)>, usize)> {
        let patience = WAIT * self.options.send_wait_times as u32;
        let most = self.options.max_merge_var_num.max(1);
        // A queue that is full does not grow while it waits.
        let plenty = most.min(self.options.send_queue_size.max(1));
        let mut state = self.state.lock();
        let steps = loop {
            let first = state.queues.iter().filter_map(|q| q.since).min();
            let whole = self.whole_steps(&state);
            match first {
                Some(_) if state.stopping => break most,
                Some(_) if whole >= plenty => break most.min(whole),
                Some(since) if since.elapsed() >= patience && whole > 0 => break most.min(whole),
                // A step that failed half way left a part of itself, which must not hold the others up for ever.
                Some(since) if since.elapsed() >= patience && (state.waiting > 0 || !self.in_steps) => break most,
                Some(since) if since.elapsed() < patience => {
                    self.changed.wait_for(&mut state, patience.saturating_sub(since.elapsed()));
                }
                None if state.stopping => return None,
                _ => self.changed.wait(&mut state),
            }
        };
        let mut taken = Vec::new();
        let mut count = 0;
        for (at, queue) in state.queues.iter_mut().enumerate() {
            let values: Vec<Value> = (0..steps).map_while(|_| queue.waiting.pop_front()).collect();
            queue.since = (!queue.waiting.is_empty()).then(now);
            count = count.max(values.len());
            if !values.is_empty() {
                let room = queue.spare.pop().unwrap_or_default();
                taken.push(Taken { queue: at, sends: queue.sends.clone(), values, room });
            }
        }
        self.changed.notify_all();
        drop(state);
        Some((self.merge(taken), count))
    }

    /// How many steps wait of which everything is there.
    fn whole_steps(&self, state: &State) -> usize {
        if state.queues.len() < self.variables {
            return 0;
        }
        state.queues.iter().map(|q| q.waiting.len()).min().unwrap_or(0)
    }

    fn merge(&self, taken: Vec<Taken>) -> Vec<(usize, Value)> {
        let mut merged = Vec::with_capacity(taken.len());
        for Taken { queue, sends, mut values, mut room } in taken {
            let count = values.len();
            if sends.latest {
                values.drain(..count - 1);
            }
            let joined = join(&mut values, &mut room);
            let mut rest = values.into_iter();
            if let Some(mut all) = rest.next() {
                if self.options.merge == Merge::Mean && !sends.adds && !sends.latest {
                    divide(&mut all, count, sends.counts);
                }
                merged.push((queue, all));
            }
            let mut state = self.state.lock();
            state.queues[queue].spare.extend(rest.chain([room]));
            if let Err(e) = joined {
                state.failed.get_or_insert(e);
            }
        }
        merged
    }

    /// Sends the merged gradients, of `count` each. The reply has parameters if they are due and no other thread fetches
    /// them; true then.
    fn send(&self, merged: &[(usize, Value)], count: usize) -> Result<bool> {
        let sends: Vec<Arc<Sends>> = {
            let state = self.state.lock();
            merged.iter().map(|(at, _)| state.queues[*at].sends.clone()).collect()
        };
        let step = self.client.step();
        {
            let mut step = step.lock();
            for ((_, value), sends) in merged.iter().zip(&sends) {
                sends.queue_value(value, &mut step)?;
            }
        }
        let none = WantedVars::new();
        let due = !self.options.independent_recv_thread && self.fetch_due(count);
        self.client.exchange(self.options.trainer as u32, None, if due { &self.wants } else { &none }, &[])?;
        if due {
            self.keep(&mut step.lock().received);
        }
        Ok(due)
    }

    fn fetch_due(&self, more: usize) -> bool {
        self.state.lock().sent + more >= self.options.min_send_grad_num_before_recv
    }

    /// New parameters are there.
    fn keep(&self, received: &mut ReceivedVars) {
        let mut state = self.state.lock();
        state.sent = 0;
        state.version += 1;
        let version = state.version;
        state.fetched.take_all(received, version);
    }

    fn recv_loop(&self) {
        loop {
            {
                let mut state = self.state.lock();
                while !state.stopping && state.sent < self.options.min_send_grad_num_before_recv.max(1) {
                    self.due.wait(&mut state);
                }
                if state.stopping {
                    return;
                }
            }
            let step = self.client.step();
            let mut step = step.lock();
            match self.client.pull_wanted(self.options.trainer as u32, &self.wants, &mut step.received) {
                Ok(()) => self.keep(&mut step.received),
                Err(e) => {
                    self.state.lock().failed.get_or_insert(e);
                    return;
                }
            }
        }
    }
}
