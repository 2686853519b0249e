//! A trainer is done: no step waits for it any more. The server ends when all trainers have left.
//!
//! Reply: `done` (10), sent before the departure takes effect, because that may end the server.

use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::Result;
use oarlock_net::now;

use crate::client::{Client, Peer, Request, incarnation};
use crate::protocol::{Message, Sender, message, request};
use crate::server::step_barrier::Event;
use crate::server::{Call, Shared};

request! { kind: 7, sender: Sender::Trainer, after_reply: depart }

message! {
    /// The last message of a trainer.
    pub(crate) struct Leave {
        /// The number of its steps.
        pub(crate) steps: u64,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    Leave::read(call.frame)?;
    let (trainer, incarnation) = (call.trainer(), call.hello.incarnation);
    let state = call.shared.state.lock();
    if state.step_barrier.rejection(trainer, incarnation).is_none() {
        // The trainer is gone when the departure takes effect: it would not leave again.
        call.shared.log_event(Event::Leave { trainer, incarnation })?;
        drop(state);
        call.shared.commit_log()?;
    }
    Ok(())
}

fn depart(call: &Call<'_>) {
    call.shared.depart(call.hello.trainer, call.hello.incarnation);
}

impl Shared {
    /// A trainer has left.
    pub(crate) fn depart(&self, trainer: u32, incarnation: u64) {
        let mut state = self.state.lock();
        if state.step_barrier.rejection(trainer as usize, incarnation).is_none() {
            state.seen[trainer as usize] = None;
            self.applied.lock().retain(|of, _| (of.0, of.1) != (trainer, incarnation));
            self.on_event(&mut state, Event::Leave { trainer: trainer as usize, incarnation });
        }
    }
}

/// How long a server may take to acknowledge it.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

impl Client {
    /// Tells every server that this trainer is done.
    pub fn leave(&self) -> Result<()> {
        self.heartbeat.stop();
        let peers: Vec<Arc<Peer>> = std::mem::take(&mut *self.peers.lock()).into_values().collect();
        let meta = Leave { steps: self.done() }.to_meta();
        let about = || "its leave".to_string();
        let request = Request { kind: REQUEST.kind, meta: meta.as_bytes(), sections: &[], about: &about };
        let mut first = Ok(());
        for peer in peers.iter().filter(|_| !self.identity.lock().read_only) {
            // A server that keeps a log may be on its way back.
            let timeout = if peer.has_log() { self.options.deadline } else { LEAVE_TIMEOUT };
            let left = peer.ask(&mut peer.take(), &request, now() + timeout);
            if first.is_ok() {
                first = left;
            }
        }
        // A later use of this client is another process to the servers.
        self.identity.lock().incarnation = incarnation();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        vec![Sample::of("leave", REQUEST.kind, &Leave { steps: 9 })]
    }

    #[test]
    fn server_ends_when_every_trainer_has_left() {
        let server = TestServer::start(2, Policy::Fail);
        let (first, second) = (server.join(0), server.join(1));
        first.leave().unwrap();
        second.notify(1, server.endpoint(), b"still here", 2).unwrap();
        second.leave().unwrap();
        assert_eq!(server.wait().steps, 0);
    }
}
