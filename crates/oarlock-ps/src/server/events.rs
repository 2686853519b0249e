//! Feeds events to the step barrier, and does what follows from them: makes steps, reports losses, ends the job.

use std::any::Any;

use oarlock_ir::{Error, Kind, Result};
use parking_lot::MutexGuard;
use tracing::{error, info};

use super::step_barrier::{Effect, Event, Failure};
use super::{Policy, ServerMode, Shared, State};

impl Shared {
    /// Appends an event to the log, if the server keeps one, and then passes it to the step barrier.
    pub(crate) fn on_logged_event(&self, state: &mut MutexGuard<'_, State>, event: Event) -> Result<Vec<Effect>> {
        self.log_event(event)?;
        Ok(self.on_event(state, event))
    }

    /// Appends an event to the log, if the server keeps one.
    pub(crate) fn log_event(&self, event: Event) -> Result<()> {
        self.log.get().map_or(Ok(()), |log| log.append_event(event))
    }

    /// Passes an event to the step barrier, and does what follows from it. A refusal is the sender's; a failure of the job is that of
    /// all trainers.
    pub(crate) fn on_event(&self, state: &mut MutexGuard<'_, State>, event: Event) -> Vec<Effect> {
        let effects = state.step_barrier.on(event);
        for effect in &effects {
            match effect {
                // Once the job has failed, trainers go because of that.
                Effect::Lost(_) if state.failed.is_some() => {}
                Effect::Lost(failure) => self.report_loss(&self.loss(state, failure)),
                Effect::Fail(failure) => {
                    let what = format!("{}, and the job cannot go on without it", self.loss(state, failure));
                    let help = match failure.joined {
                        true => "see that trainer's log; OARLOCK_ON_LOSS=wait or shrink lets the others go on",
                        false => {
                            "was it started, with the endpoints of these servers? FLAGS_rpc_deadline (milliseconds) sets how long to wait"
                        }
                    };
                    state.failed.get_or_insert(Error::new(Kind::Network, what).help(help));
                }
                Effect::Finish if !self.options.stay => state.finished = true,
                Effect::Apply { .. } | Effect::Finish | Effect::Accept | Effect::Duplicate | Effect::Refuse(_) => {}
            }
        }
        self.apply(state, &effects);
        if let Event::Rejoin { trainer, .. } = event
            && self.updates.mode != ServerMode::Sync
        {
            let state = &mut **state;
            state.staleness.rejoined(trainer, |t| state.step_barrier.is_awaited(t));
        }
        self.changed.notify_all();
        effects
    }

    /// Makes a step if one is complete.
    fn apply(&self, state: &mut MutexGuard<'_, State>, effects: &[Effect]) {
        let Some(of) = effects.iter().find_map(|e| if let Effect::Apply { of, .. } = e { Some(of) } else { None })
        else {
            return;
        };
        // A push that completes its own step is kept first; its session does that and then applies.
        if effects.contains(&Effect::Accept) {
            return;
        }
        self.make_step(state, of);
    }

    pub(crate) fn make_step(&self, state: &mut MutexGuard<'_, State>, of: &[usize]) {
        self.pre_images.keep(&self.updates);
        if let Err(error) = self.updates.step(of) {
            let step = state.step_barrier.done();
            state.failed.get_or_insert(error.note(format!("in step {step} of server {}", self.updates.endpoint)));
        }
        self.changed.notify_all();
    }

    /// A panic while a request was served: the job cannot go on.
    #[cold]
    pub(crate) fn fail_after_panic(&self, kind: u16, trainer: u32, panic: &(dyn Any + Send)) -> Error {
        let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let endpoint = &self.updates.endpoint;
        let what = format!("server {endpoint} panicked while it served a request of kind {kind} of trainer {trainer}");
        let failure = Error::internal(what).note(said.unwrap_or("the panic has no text").to_string());
        error!(role = "server", %endpoint, "{failure}");
        let mut state = self.state.lock();
        let failure = state.failed.get_or_insert(failure).clone();
        self.changed.notify_all();
        failure
    }

    /// The text of a loss. In asynchronous training steps are not counted, but the pushes of each trainer are.
    fn loss(&self, state: &State, failure: &Failure) -> String {
        let trainer = failure.trainer;
        match self.updates.mode {
            _ if !failure.joined => format!("trainer {trainer} did not join in {} s", self.options.deadline.as_secs()),
            ServerMode::Sync => failure.to_string(),
            ServerMode::Async | ServerMode::Geo => {
                format!("trainer {trainer} was lost after its push {}", state.staleness.pushes(trainer))
            }
        }
    }

    fn report_loss(&self, loss: &str) {
        let then = match self.options.policy {
            Policy::Fail => "the job ends",
            Policy::Wait => "the others wait for its return",
            Policy::Shrink => "the others go on without it",
        };
        info!(role = "server", endpoint = %self.updates.endpoint, "{loss}; {then}");
    }
}
