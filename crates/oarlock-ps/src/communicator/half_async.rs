//! Half-async, and sync with several threads: the threads of a trainer meet at the end of a step, the last to come sends the
//! mean of their gradients and fetches parameters for all.

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
    meeting: Mutex<Meeting>,
    changed: Condvar,
}

/// The step that threads are in.
struct Meeting {
    /// Threads that still train.
    threads: usize,
    /// Threads that wait.
    here: usize,
    /// Complete meetings.
    held: u64,
    /// What was sent in this step, by operator: the sum of each variable, and of how many threads.
    sent: Vec<(Arc<Sends>, Vec<Value>, usize)>,
    /// What the threads that wait will look up next.
    ahead: Vec<Arc<Mutex<RowFetch>>>,
    /// What the last exchange brought.
    brought: ReceivedVars,
    failed: Option<Error>,
}

/// How long a thread waits for the other threads of its process.
const PATIENCE: Duration = Duration::from_secs(600);

impl HalfAsync {
    pub(super) fn new(program: &Program, client: Arc<Client>, options: CommunicatorOptions) -> HalfAsync {
        let meeting = Meeting {
            threads: options.threads.max(1),
            here: 0,
            held: 0,
            sent: Vec::new(),
            ahead: Vec::new(),
            brought: ReceivedVars::default(),
            failed: None,
        };
        HalfAsync {
            client,
            wants: wants(program),
            servers: servers(program),
            options,
            meeting: Mutex::new(meeting),
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
        let mut meeting = self.meeting.lock();
        let at = match meeting.sent.iter().position(|(s, ..)| s.inputs[0].1 == sends.inputs[0].1) {
            Some(at) => at,
            None => {
                let rooms = values.iter().map(|_| Value::Empty).collect();
                meeting.sent.push((Arc::new(sends.clone()), rooms, 0));
                meeting.sent.len() - 1
            }
        };
        let (_, all, count) = &mut meeting.sent[at];
        *count += 1;
        // What all servers want to know, that a step was made or its learning rate, is said once for the threads that make it together.
        let alone = *count == 1 || sends.to_all;
        let mut both = all.iter_mut().zip(&values);
        both.try_for_each(|(all, value)| if alone { copy(value, all) } else { add(all, value) })
    }

    /// WaitReport for the other threads; the last one makes the exchange.
    pub(super) fn barrier(&self, runtime: &Runtime) -> Result<()> {
        let ahead = self.client.prefetch(runtime);
        let mut meeting = self.meeting.lock();
        let this = meeting.held;
        meeting.ahead.extend(ahead);
        meeting.here += 1;
        if meeting.here >= meeting.threads {
            self.hold(&mut meeting);
        }
        let deadline = now() + PATIENCE;
        while meeting.held == this {
            if self.changed.wait_until(&mut meeting, deadline).timed_out() {
                let missing = meeting.threads.saturating_sub(meeting.here);
                return Err(Error::new(
                    Kind::Timeout,
                    format!("{missing} threads of this trainer did not end their step"),
                )
                .help("threads that have no more data must say so"));
            }
        }
        if let Some(e) = &meeting.failed {
            return Err(e.clone());
        }
        self.client.step().lock().received.copy_all(&meeting.brought)
    }

    /// Threads that train.
    pub(super) fn threads(&self) -> usize {
        self.meeting.lock().threads
    }

    /// So many threads train from now on.
    pub(super) fn set_threads(&self, threads: usize) {
        self.meeting.lock().threads = threads.max(1);
    }

    /// A thread has no more data.
    pub(super) fn thread_done(&self) -> Result<()> {
        let mut meeting = self.meeting.lock();
        meeting.threads = meeting.threads.saturating_sub(1);
        if meeting.here > 0 && meeting.here >= meeting.threads {
            self.hold(&mut meeting);
        }
        meeting.failed.clone().map_or(Ok(()), Err)
    }

    fn hold(&self, meeting: &mut Meeting) {
        if let Err(e) = self.exchange(meeting) {
            meeting.failed.get_or_insert(e);
        }
        meeting.here = 0;
        meeting.held += 1;
        self.changed.notify_all();
    }

    fn exchange(&self, meeting: &mut Meeting) -> Result<()> {
        let step = self.client.step();
        {
            let mut step = step.lock();
            for (sends, all, count) in meeting.sent.iter_mut().filter(|(_, _, count)| *count > 0) {
                if !sends.adds && !sends.to_all {
                    all.iter_mut().for_each(|all| divide(all, *count, sends.counts));
                }
                sends.queue_values(&all.iter().collect::<Vec<_>>(), &mut step)?;
                *count = 0;
            }
        }
        let barrier = self.is_sync().then_some(&self.servers[..]);
        let ahead = std::mem::take(&mut meeting.ahead);
        self.client.exchange(self.options.trainer as u32, barrier, &self.wants, &ahead)?;
        let version = meeting.held + 1;
        meeting.brought.take_all(&mut step.lock().received, version);
        Ok(())
    }
}
