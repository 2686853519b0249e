//! A trainer rejoins: it was lost, the others went on without it, and it agrees with all servers on the step from which on it takes part.
//!
//! The others make steps meanwhile. The step is chosen some steps ahead; a server that has passed it already refuses, and a later one is
//! tried. A server that agreed waits for the trainer at that step, so from then on no trainer can get far ahead of it.
//!
//! Reply: `rejoin` (18) with the steps that the server made.

use std::sync::atomic::Ordering;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::now;
use tracing::info;

use super::all_gather::REPLY_AFTER;
use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;
use crate::server::step_barrier::Event;

request! { kind: 18, sender: Sender::ActiveTrainer }

message! {
    /// The request, and the reply.
    #[derive(Copy, Default)]
    pub(crate) struct Rejoin {
        /// The step from which on the trainer takes part; 0 only asks for the state. In the reply, 0 if it is too late for that step.
        pub(crate) from: u64,
        /// Reply when the step before it is done, or after some seconds.
        pub(crate) wait: bool,
        /// How many pauses the process has begun: they are over.
        pub(crate) pauses: u64,
        /// Steps that the server has made.
        pub(crate) done: u64,
        /// No trainer takes part in the next step.
        pub(crate) no_participants: bool,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let shared = call.shared;
    let mut rejoin = Rejoin::read(call.frame)?;
    let (trainer, incarnation, from) = (call.trainer(), call.hello.incarnation, rejoin.from);
    let mut state = shared.state.lock();
    if from > 0 {
        let event = Event::Rejoin { trainer, incarnation, from, pauses: rejoin.pauses };
        let effects = shared.on_logged_event(&mut state, event)?;
        rejoin.from = if call.check_refused(&effects).is_ok() { from } else { 0 };
    }
    let until = now() + REPLY_AFTER;
    while rejoin.wait
        && rejoin.from > 0
        && state.step_barrier.done() + 1 < from
        && !state.step_barrier.has_no_participants()
    {
        shared.check_going_on(&state)?;
        if shared.changed.wait_until(&mut state, until).timed_out() {
            break;
        }
    }
    (rejoin.done, rejoin.no_participants) = (state.step_barrier.done(), state.step_barrier.has_no_participants());
    drop(state);
    call.reply.set(REQUEST.kind, &rejoin);
    Ok(())
}

/// How many steps ahead of the servers the first try is, and the last.
const STEPS_AHEAD: (u64, u64) = (2, 1 << 20);

impl Client {
    /// Rejoins; returns how many steps are made then. The parameters that servers have are those after these steps, and stay so
    /// until this trainer takes part in the next.
    pub(crate) fn rejoin(&self, trainer: u32, servers: &[String]) -> Result<u64> {
        let (deadline, mut ahead) = (self.deadline(), STEPS_AHEAD.0);
        while now() < deadline {
            self.options.check_interrupted()?;
            let states = self.ask_to_rejoin(trainer, servers, 0, false)?;
            let done = states.iter().map(|server| server.done).max().unwrap_or(0);
            // Where no trainer takes part, none will pass the next step either.
            let from = done + if states.iter().all(|server| server.no_participants) { 1 } else { ahead };
            if self.agree_on(trainer, servers, from)? {
                info!(
                    role = "trainer",
                    rank = trainer,
                    step = from,
                    "trainer {trainer} rejoined and takes part again from step {from} on"
                );
                return Ok(from - 1);
            }
            ahead = (ahead * 2).min(STEPS_AHEAD.1);
        }
        let seconds = self.options.deadline.as_secs();
        let what = format!("trainer {trainer} could not agree with the servers on a step to rejoin at in {seconds} s");
        Err(Error::new(Kind::Timeout, what).help("see what the other trainers do"))
    }

    /// Takes part from a step on and waits until it is the next; false if a server has passed it, or it will never come.
    fn agree_on(&self, trainer: u32, servers: &[String], from: u64) -> Result<bool> {
        if self.ask_to_rejoin(trainer, servers, from, false)?.iter().any(|server| server.from == 0) {
            return Ok(false);
        }
        let deadline = self.deadline();
        while now() < deadline {
            self.options.check_interrupted()?;
            let states = self.ask_to_rejoin(trainer, servers, from, true)?;
            if states.iter().all(|server| server.done + 1 >= from) {
                return Ok(true);
            }
            if states.iter().all(|server| server.no_participants) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn ask_to_rejoin(&self, trainer: u32, servers: &[String], from: u64, wait: bool) -> Result<Vec<Rejoin>> {
        let message = Rejoin { from, wait, pauses: self.pauses.load(Ordering::Acquire), ..Rejoin::default() };
        let about = || "its return".to_string();
        let ask = |server: &String| self.ask(trainer, server, &REQUEST, &message, &about, Rejoin::read);
        servers.iter().map(ask).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        let rejoin = Rejoin { from: 4, wait: true, pauses: 1, done: 3, no_participants: false };
        vec![Sample::of("rejoin", REQUEST.kind, &rejoin)]
    }

    #[test]
    fn lost_trainer_that_rejoins_is_waited_for_again() {
        let server = TestServer::start(2, Policy::Shrink);
        let (first, lost) = (server.join(0), server.join(1));
        // Without trainers that take part, the next step is the one to agree on.
        first.pause(0, &server.list(), 1).unwrap();
        let incarnation = lost.identity.lock().incarnation;
        let lose = Event::Lose { trainer: 1, incarnation };
        server.shared().on_event(&mut server.shared().state.lock(), lose);
        lost.abandon();
        let again = server.join(1);
        assert!(server.shared().state.lock().step_barrier.must_rejoin(1));
        assert_eq!(again.rejoin(1, &server.list()).unwrap(), 0);
        assert_eq!(server.shared().state.lock().step_barrier.awaited(), [1]);
    }
}
