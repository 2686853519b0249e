//! The failure detector: notices trainers whose heartbeats stopped, whose connection closed, or that never joined.
//!
//! Every request counts as a heartbeat. A trainer is lost after [`silence`](super::ServerOptions::silence) without one; sooner if the
//! connection that carries its heartbeats ended, or its last one, and it does not connect again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_ir::{Error, Kind};
use oarlock_net::now;
use parking_lot::MutexGuard;
use tracing::info;

use super::log::ServerLog;
use super::session::End;
use super::step_barrier::Event;
use super::wait_report::{Reminder, WaitReport};
use super::{Shared, State};
use crate::request::hello::{Hello, Purpose};

/// How often a server checks the heartbeats.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// How long a trainer whose connection was closed may take to connect again before it is lost.
const GRACE: Duration = Duration::from_secs(1);

/// The same if its machine could not be reached for a while already.
const SHORT_GRACE: Duration = Duration::from_millis(600);

/// A server that did not check for longer than this was stopped, or starved, or waited for its disk.
const LATE: Duration = Duration::from_secs(1);

impl State {
    /// The server itself was late: trainers could not be seen meanwhile.
    fn excuse(&mut self, late: Duration) {
        if late > LATE {
            self.seen.iter_mut().flatten().for_each(|(_, seen)| *seen += late);
        }
    }
}

impl Shared {
    pub(super) fn detect_failures(&self) {
        let (mut reminder, mut checked) = (Reminder::new(now()), now());
        let mut state = self.state.lock();
        while !self.stop.load(Ordering::Acquire) {
            let now = now();
            state.excuse(now.saturating_duration_since(checked).saturating_sub(CHECK_EVERY));
            checked = now;
            if let Some(failed) = self.log.get().and_then(ServerLog::failed) {
                state.failed.get_or_insert(failed);
                self.changed.notify_all();
            }
            for trainer in 0..state.seen.len() {
                if let Some((incarnation, seen)) = state.seen[trainer]
                    && now.saturating_duration_since(seen) > self.options.silence
                {
                    state.seen[trainer] = None;
                    self.lose(&mut state, Event::Lose { trainer, incarnation });
                }
            }
            self.unauthenticated.check(now);
            self.check_joined(&mut state);
            self.check_deserted(&mut state);
            if state.failed.is_none() && !state.finished {
                let report = WaitReport::of(&state.step_barrier, self.updates.mode);
                let lines = reminder.check(&report, now);
                let (endpoint, step) = (self.updates.endpoint.as_str(), state.step_barrier.done() + 1);
                lines.iter().for_each(|line| info!(role = "server", endpoint, step, "server {endpoint} {line}"));
            }
            self.changed.wait_for(&mut state, CHECK_EVERY);
        }
    }

    /// Once a trainer has joined, the others must join within the deadline.
    fn check_joined(&self, state: &mut MutexGuard<'_, State>) {
        let expected = state.step_barrier.expected();
        if expected.is_empty() {
            return;
        }
        let begun = *state.begun.get_or_insert_with(now);
        if begun.elapsed() > self.options.deadline {
            for trainer in expected {
                self.lose(state, Event::Absent { trainer });
            }
        }
    }

    /// A trainer is lost. If the log cannot take that, the job has failed already.
    pub(crate) fn lose(&self, state: &mut MutexGuard<'_, State>, event: Event) {
        if self.log_event(event).is_ok() {
            self.on_event(state, event);
        }
    }

    /// A job that has begun cannot be without trainers for longer than the deadline.
    fn check_deserted(&self, state: &mut MutexGuard<'_, State>) {
        let alone = state.step_barrier.has_begun() && state.step_barrier.active() == 0;
        if !alone || state.finished || state.failed.is_some() || self.options.stay {
            state.deserted = None;
            return;
        }
        let since = *state.deserted.get_or_insert_with(now);
        if since.elapsed() > self.options.deadline {
            let seconds = self.options.deadline.as_secs();
            let what = format!("no trainer was connected to server {} for {seconds} s", self.updates.endpoint);
            state.failed =
                Some(Error::new(Kind::Timeout, what).help("see the trainers' logs, then start the job again"));
            self.changed.notify_all();
        }
    }

    /// A trainer sent a heartbeat, or another request.
    pub(super) fn seen(&self, trainer: u32, incarnation: u64) {
        let mut state = self.state.lock();
        if let Some(Some((of, seen))) = state.seen.get_mut(trainer as usize)
            && *of == incarnation
        {
            *seen = now();
        }
    }

    /// A trainer's connection ended. If it carried the heartbeats, or was its last: the trainer is lost unless it connects again soon.
    pub(super) fn closed(&self, hello: &Hello, end: End) {
        let (trainer, incarnation) = (hello.trainer, hello.incarnation);
        let mut state = self.state.lock();
        let of = (trainer, incarnation);
        let left = state.connections.get_mut(&of).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            state.connections.remove(&of);
        }
        if left > 0 && hello.purpose != Purpose::Heartbeat {
            return;
        }
        let grace = if end == End::Closed { GRACE } else { SHORT_GRACE };
        let soon = now().checked_sub(self.options.silence.saturating_sub(grace));
        if let (Some(Some((of, seen))), Some(soon)) = (state.seen.get_mut(trainer as usize), soon)
            && *of == incarnation
        {
            *seen = soon.min(*seen);
        }
    }
}
