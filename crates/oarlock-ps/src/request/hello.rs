//! The first message on a connection: which process connects, and for which purpose.
//!
//! Reply: `welcome` (2) with the identity of the server, the last step and push that it has of this trainer, and whether it must rejoin.

use std::time::Instant;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer, damaged};
use oarlock_net::{Conn, Failure, Incoming, Outgoing, Received, now};

use crate::client::Peer;
use crate::protocol::error::decode_error;
use crate::protocol::{Message, Sender, message, reply, request};
use crate::server::step_barrier::Event;
use crate::server::{Call, ServerMode};

request! { kind: 1, sender: Sender::BeforeHello }

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests of a trainer.
    Requests,
    /// Heartbeats only; its end is the trainer's end.
    Heartbeat,
    /// Reads values and changes nothing: a tool, an evaluation, a predictor.
    ReadOnly,
}

impl Message for Purpose {
    fn encode(&self, meta: &mut Writer) {
        meta.u8(*self as u8);
    }

    fn decode(meta: &mut Reader<'_>) -> Result<Purpose> {
        match meta.u8()? {
            0 => Ok(Purpose::Requests),
            1 => Ok(Purpose::Heartbeat),
            2 => Ok(Purpose::ReadOnly),
            other => Err(damaged(format!("a connection for unknown purpose {other}"))),
        }
    }
}

message! {
    /// The process that connects.
    pub(crate) struct Hello {
        pub(crate) purpose: Purpose,
        pub(crate) trainer: u32,
        /// Tells processes with the same number apart; a later one is greater.
        pub(crate) incarnation: u64,
        /// Requests of one stream follow each other; a duplicate has the sequence number of the first.
        pub(crate) stream: u32,
        /// The fingerprint of the program, as far as trainers and servers must agree; empty if not known.
        pub(crate) fingerprint: String,
    }
}

message! {
    /// The identity of a server: the history that it holds.
    #[derive(Default)]
    pub(crate) struct ServerIdentity {
        /// Its number among the servers of the job, as far as its program says.
        pub(crate) number: Option<u32>,
        /// The name of its history, made up when the server was first started. A server that is restarted with its log keeps it.
        pub(crate) lineage: String,
        /// How often the server was started with this history.
        pub(crate) epoch: u64,
        /// It keeps a log: if it ends, it may be restarted and go on.
        pub(crate) has_log: bool,
    }
}

message! {
    /// The reply.
    #[derive(Default)]
    pub(crate) struct Welcome {
        /// The last step of this trainer that the server has.
        pub(crate) pushed: u64,
        /// The others went on without this trainer: it must agree with all servers on the step from which on it takes part again.
        pub(crate) must_rejoin: bool,
        pub(crate) server: ServerIdentity,
        /// The number of pushes that the server has of this trainer.
        pub(crate) pushes: u64,
        /// The sequence number of the last push of this stream that was applied; none where pushes are known by their steps, or the
        /// trainer has left.
        pub(crate) applied: Option<u64>,
    }
}

impl Hello {
    pub(crate) fn is_read_only(&self) -> bool {
        self.purpose == Purpose::ReadOnly
    }

    /// A trainer must run the program whose other half the server runs.
    fn check(&self, fingerprint: &str, endpoint: &str) -> Result<()> {
        let both = !self.fingerprint.is_empty() && !fingerprint.is_empty();
        if both && self.fingerprint != fingerprint {
            let what = format!(
                "trainer {} runs another program than server {endpoint} serves (fingerprints {} and {fingerprint})",
                self.trainer, self.fingerprint
            );
            return Err(
                Error::new(Kind::Argument, what).help("start all processes of a job with the same script and settings")
            );
        }
        Ok(())
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let (shared, hello) = (call.shared, call.hello);
    hello.check(&shared.options.fingerprint, &shared.updates.endpoint)?;
    let (trainer, incarnation) = (hello.trainer as usize, hello.incarnation);
    let mut state = shared.state.lock();
    let has_left = state.step_barrier.has_left(trainer, incarnation);
    if !hello.is_read_only() {
        // A trainer that left and lost the reply leaves again: it is admitted, and takes part in nothing.
        if !has_left {
            let join = Event::Join { trainer, incarnation };
            // Other connections of a trainer that has joined change nothing.
            let joins = state.step_barrier.rejection(trainer, incarnation).is_some();
            let effects = match joins {
                true => shared.on_logged_event(&mut state, join)?,
                false => shared.on_event(&mut state, join),
            };
            call.check_refused(&effects)?;
            state.seen[trainer] = Some((incarnation, now()));
        }
        *state.connections.entry((hello.trainer, incarnation)).or_default() += 1;
    }
    let mut must_rejoin = state.step_barrier.must_rejoin(trainer);
    if must_rejoin && shared.updates.mode != ServerMode::Sync {
        // Where no trainer waits for another, it takes part at once.
        let from = state.step_barrier.done() + 1;
        shared.on_logged_event(&mut state, Event::Rejoin { trainer, incarnation, from, pauses: 0 })?;
        must_rejoin = false;
    }
    let (pushed, sync) = (state.step_barrier.pushed(trainer), shared.updates.mode == ServerMode::Sync);
    let pushes = if sync { pushed } else { state.staleness.pushes(trainer) };
    drop(state);
    let applied = (!sync && !has_left).then(|| shared.last_applied((hello.trainer, incarnation, hello.stream)));
    let server = shared.identity.clone();
    call.reply.set(reply::WELCOME, &Welcome { pushed, must_rejoin, server, pushes, applied });
    Ok(())
}

impl Peer {
    /// Introduces this process on a new connection.
    pub(crate) fn say_hello(
        &self,
        mut conn: Conn,
        purpose: Purpose,
        stream: u32,
        deadline: Instant,
    ) -> std::result::Result<(Conn, Welcome), Failure> {
        let hello = self.hello(purpose, stream).to_meta();
        let out = Outgoing { kind: REQUEST.kind, id: 0, meta: hello.as_bytes(), sections: &[] };
        conn.send(&out, deadline).map_err(Failure::Absent)?;
        let mut reply = Incoming::new();
        match conn.recv(&mut reply, deadline).map_err(Failure::Absent)? {
            Received::Frame if reply.kind() == reply::WELCOME => {
                Ok((conn, Welcome::read(&reply).map_err(Failure::Final)?))
            }
            Received::Frame if reply.kind() == reply::FAILED => {
                let refused = decode_error(&mut Reader::new(reply.meta(), "a message"), &self.endpoint);
                Err(Failure::Final(refused.unwrap_or_else(|damaged| damaged)))
            }
            Received::Frame | Received::Closed => {
                let what = format!("{} closed the connection instead of a greeting", self.endpoint);
                Err(Failure::Absent(Error::new(Kind::Network, what)))
            }
            Received::TimedOut => {
                let error = Error::new(Kind::Timeout, format!("{} sent no greeting", self.endpoint));
                Err(Failure::Absent(error.help("is it a parameter server of Oarlock? look at its log")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;

    fn hello() -> Hello {
        let purpose = Purpose::ReadOnly;
        Hello { purpose, trainer: 1, incarnation: 7, stream: 2, fingerprint: "abcdef".into() }
    }

    pub(super) fn samples() -> Vec<Sample> {
        let server = ServerIdentity { number: Some(1), lineage: "a7".into(), epoch: 2, has_log: true };
        let welcome = Welcome { pushed: 8, must_rejoin: true, server, pushes: 9, applied: Some(10) };
        vec![Sample::of("hello", REQUEST.kind, &hello()), Sample::of("welcome", reply::WELCOME, &welcome)]
    }

    #[test]
    fn trainer_of_another_program_is_refused() {
        let hello = hello();
        hello.check("", "a:1").unwrap();
        hello.check("abcdef", "a:1").unwrap();
        let error = hello.check("123456", "a:1").unwrap_err();
        assert_eq!(
            error.report().what,
            "trainer 1 runs another program than server a:1 serves (fingerprints abcdef and 123456)"
        );
    }
}
