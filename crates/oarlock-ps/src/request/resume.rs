//! Trainers resume after a pause: all that were in the same all-gather take part again from one step on.
//!
//! The all-gather is held at one server, which tells that step. Every trainer sends it to all servers before its next push, for all
//! that took part: so no server makes a step without one of them.
//!
//! Reply: `resume` (22): does the trainer that asks take part from that step on?

use std::sync::atomic::Ordering;

use oarlock_ir::Result;

use super::all_gather::AllGathered;
use super::pause::Paused;
use crate::client::Client;
use crate::protocol::{Message, RequestDef, Sender, ValueWriter, message, request};
use crate::server::step_barrier::Event;
use crate::server::{Call, ServerMode};

request! { kind: 22, sender: Sender::ActiveTrainer, replay: apply }

message! {
    /// These pauses are over.
    pub(crate) struct Resume {
        /// The step from which on their trainers take part.
        pub(crate) from: u64,
        pub(crate) of: Vec<Paused>,
    }
}

message! {
    /// The reply.
    pub(crate) struct Resumed {
        /// The trainer that asks takes part from that step on. If not, it must agree on another with all servers.
        pub(crate) taken: bool,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let shared = call.shared;
    let resume = Resume::read(call.frame)?;
    let mut state = shared.state.lock();
    call.log()?;
    // Where no trainer waits for the end of a step, steps are not counted.
    let from = if shared.updates.mode == ServerMode::Sync { resume.from } else { state.step_barrier.done() + 1 };
    let mut resumed = Vec::new();
    for Paused { trainer, incarnation, number } in resume.of {
        let trainer = trainer as usize;
        let before = state.step_barrier.is_awaited(trainer);
        shared.on_event(&mut state, Event::Resume { trainer, incarnation, number, from });
        if !before && state.step_barrier.is_awaited(trainer) {
            resumed.push(trainer);
        }
    }
    state.staleness.align(&resumed);
    let taken = !state.step_barrier.must_rejoin(call.trainer());
    drop(state);
    call.reply.set(REQUEST.kind, &Resumed { taken });
    Ok(())
}

impl Client {
    /// Takes part again, with all that were in the all-gather.
    pub(super) fn take_part(&self, trainer: u32, servers: &[String], gathered: AllGathered) -> Result<()> {
        let resume = Resume { from: gathered.done + 1, of: gathered.paused };
        let about = || "the end of its pause".to_string();
        let taken = self.tell_all(trainer, servers, &REQUEST, &resume, &about)?;
        let done = if taken { gathered.done } else { self.rejoin(trainer, servers)? };
        self.continue_after(done);
        Ok(())
    }

    /// This trainer makes the step after `done` next. The others may have made some without it: the parameters that it has are old.
    pub(crate) fn continue_after(&self, done: u64) {
        self.left_out.store(false, Ordering::Release);
        if self.done.swap(done, Ordering::AcqRel) != done {
            self.servers_changed();
            self.behind.store(true, Ordering::Release);
        }
    }

    /// Must parameters be fetched anew, because steps were made without this trainer? Asked once: the caller fetches them.
    pub(crate) fn take_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire) && self.behind.swap(false, Ordering::AcqRel)
    }

    /// They could not be fetched.
    pub(crate) fn still_behind(&self) {
        self.behind.store(true, Ordering::Release);
    }

    /// Sends the same message to all servers; true if all of them took it.
    pub(super) fn tell_all(
        &self,
        trainer: u32,
        servers: &[String],
        request: &RequestDef,
        message: &impl Message,
        about: &dyn Fn() -> String,
    ) -> Result<bool> {
        let to = |server| (server, message.to_meta(), ValueWriter::default());
        let requests: Vec<_> = servers.iter().map(String::as_str).map(to).collect();
        let mut all = true;
        self.ask_all(trainer, request, &requests, about, |_, reply| {
            all &= Resumed::read(reply)?.taken;
            Ok(())
        })?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        let of = vec![Paused { trainer: 1, incarnation: 7, number: 2 }];
        vec![
            Sample::of("resume", REQUEST.kind, &Resume { from: 9, of }),
            Sample::of("resumed", REQUEST.kind, &Resumed { taken: true }),
        ]
    }

    #[test]
    fn steps_wait_again_for_a_trainer_that_resumes() {
        let server = TestServer::start(2, Policy::Fail);
        let (first, _second) = (server.join(0), server.join(1));
        first.pause(0, &server.list(), 1).unwrap();
        let paused = Paused { trainer: 0, incarnation: first.identity.lock().incarnation, number: 1 };
        let about = || "the end of a pause".to_string();
        let resume = |of: Vec<Paused>| first.tell_all(0, &server.list(), &REQUEST, &Resume { from: 1, of }, &about);
        // A late message about a pause before this one changes nothing.
        resume(vec![Paused { number: 0, ..paused.clone() }]).unwrap();
        assert_eq!(server.shared().state.lock().step_barrier.awaited(), [1]);
        assert!(resume(vec![paused]).unwrap());
        assert_eq!(server.shared().state.lock().step_barrier.awaited(), [0, 1]);
    }
}
