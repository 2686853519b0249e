//! A trainer has no data until it resumes: it is about to wait for the others in an all-gather, and steps are made without it.
//!
//! Reply: `resume` (22), as for a resume.

use oarlock_ir::Result;

use super::resume::Resumed;
use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;
use crate::server::step_barrier::Event;

request! { kind: 21, sender: Sender::ActiveTrainer }

message! {
    /// The request.
    pub(crate) struct Pause {
        /// Counts the pauses of this process from 1.
        pub(crate) number: u64,
    }
}

message! {
    /// A pause of a trainer.
    pub(crate) struct Paused {
        pub(crate) trainer: u32,
        pub(crate) incarnation: u64,
        pub(crate) number: u64,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let Pause { number } = Pause::read(call.frame)?;
    let event = Event::Pause { trainer: call.trainer(), incarnation: call.hello.incarnation, number };
    let effects = call.shared.on_logged_event(&mut call.shared.state.lock(), event)?;
    call.check_refused(&effects)?;
    call.reply.set(super::resume::REQUEST.kind, &Resumed { taken: true });
    Ok(())
}

impl Client {
    /// Tells all servers that this trainer has no data from its next step on.
    pub(super) fn pause(&self, trainer: u32, servers: &[String], number: u64) -> Result<()> {
        let about = || "its pause".to_string();
        self.tell_all(trainer, servers, &REQUEST, &Pause { number }, &about).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        vec![Sample::of("pause", REQUEST.kind, &Pause { number: 2 })]
    }

    #[test]
    fn steps_do_not_wait_for_a_trainer_that_pauses() {
        let server = TestServer::start(2, Policy::Fail);
        let (first, _second) = (server.join(0), server.join(1));
        assert_eq!(server.shared().state.lock().step_barrier.awaited(), [0, 1]);
        first.pause(0, &server.list(), 1).unwrap();
        assert_eq!(server.shared().state.lock().step_barrier.awaited(), [1]);
    }
}
