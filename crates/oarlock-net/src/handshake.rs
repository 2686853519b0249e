//! Who is there: the first frames of a connection.
//!
//! ```text
//! client  -> HELLO      job, nonce, has a token?, hello
//! server  -> CHALLENGE  nonce, has a token?          | REFUSED why
//! client  -> PROOF      proof of the client          | REFUSED why
//! server  -> WELCOME    proof of the server, hello   | REFUSED why
//! ```
//! A proof is an HMAC-SHA256, keyed by the token, of who proves, both nonces, the job and the hellos: the token itself is never sent,
//! and a proof is worth nothing in another connection. The client proves first, so a server reveals nothing to an unauthenticated peer.

use std::time::Instant;

use hmac::{Hmac, KeyInit, Mac};
use oarlock_ir::{Error, Result};
use sha2::Sha256;

use super::codec::{Reader, Writer};
use super::fault;
use super::frame::{Incoming, OWN_KINDS, Outgoing};
use super::now;
use super::options::{NetOptions, READS};
use super::receive::{Received, Receiver};
use super::send::Sender;

/// Bytes a frame may have before the peer is known.
pub(super) const LIMIT: u64 = 64 << 10;

const HELLO: u16 = OWN_KINDS;
const CHALLENGE: u16 = OWN_KINDS + 1;
const PROOF: u16 = OWN_KINDS + 2;
const WELCOME: u16 = OWN_KINDS + 3;
const REFUSED: u16 = OWN_KINDS + 4;

type Nonce = [u8; 32];

/// The result of a handshake.
pub(super) enum Outcome {
    /// The peer is who it should be; this is its hello.
    Known(Vec<u8>),
    /// One of both does not want the other.
    Refused(Error),
    /// The peer has gone before the end.
    Gone(Error),
}

impl Outcome {
    pub(super) fn into_result(self) -> Result<Vec<u8>> {
        match self {
            Outcome::Known(hello) => Ok(hello),
            Outcome::Refused(e) | Outcome::Gone(e) => Err(e),
        }
    }
}

/// A reason to end the handshake.
enum End {
    /// We refuse; the peer receives the reason.
    Refuse(Error),
    /// The peer refuses, is silent, or makes mistakes; it is not told.
    Leave(Error),
    Gone(Error),
}

/// The client's part.
pub(super) fn greet(send: &mut Sender, recv: &mut Receiver, options: &NetOptions, deadline: Instant) -> Outcome {
    let mut talk = Talk::new(send, recv, options, deadline);
    let end = talk.greet();
    talk.outcome(end)
}

/// The server's part.
pub(super) fn welcome(send: &mut Sender, recv: &mut Receiver, options: &NetOptions, deadline: Instant) -> Outcome {
    let mut talk = Talk::new(send, recv, options, deadline);
    let end = talk.welcome();
    talk.outcome(end)
}

struct Talk<'a> {
    send: &'a mut Sender,
    recv: &'a mut Receiver,
    options: &'a NetOptions,
    start: Instant,
    deadline: Instant,
    frame: Incoming,
}

impl<'a> Talk<'a> {
    fn new(send: &'a mut Sender, recv: &'a mut Receiver, options: &'a NetOptions, deadline: Instant) -> Talk<'a> {
        Talk { send, recv, options, start: now(), deadline, frame: Incoming::new() }
    }

    fn greet(&mut self) -> std::result::Result<Vec<u8>, End> {
        let nonce = fresh_nonce()?;
        let (job, token, hello) = (&self.options.job, self.options.token.is_some(), &self.options.hello);
        let mut meta = Writer::new();
        meta.str(job).bytes(&nonce).bool(token).bytes(hello);
        self.say(HELLO, &meta)?;

        self.expect(CHALLENGE)?;
        let (theirs, their_token) = self.read(|meta| Ok((meta.bytes()?.to_vec(), meta.bool()?)))?;
        self.same_security(their_token)?;
        let mut proven = Proven { client: &nonce, server: &theirs, job, hello, answer: None };
        let mut meta = Writer::new();
        meta.bytes(&proven.by(b"client", self.options));
        self.say(PROOF, &meta)?;

        self.expect(WELCOME)?;
        let (proof, their_hello) = self.read(|meta| Ok((meta.bytes()?.to_vec(), meta.bytes()?.to_vec())))?;
        proven.answer = Some(&their_hello);
        proven.check(b"server", self.options, &proof).map_err(|()| self.wrong_token())?;
        Ok(their_hello)
    }

    fn welcome(&mut self) -> std::result::Result<Vec<u8>, End> {
        self.expect(HELLO)?;
        let (job, theirs, their_token, their_hello) = self
            .read(|meta| Ok((meta.str()?.to_owned(), meta.bytes()?.to_vec(), meta.bool()?, meta.bytes()?.to_vec())))?;
        let reads = self.options.lets_read && job.is_empty() && their_hello == READS;
        if job != self.options.job && !reads {
            return Err(self.wrong_job(&job));
        }
        self.same_security(their_token)?;
        let nonce = fresh_nonce()?;
        let mut meta = Writer::new();
        meta.bytes(&nonce).bool(self.options.token.is_some());
        self.say(CHALLENGE, &meta)?;

        self.expect(PROOF)?;
        let proof = self.read(|meta| Ok(meta.bytes()?.to_vec()))?;
        let mut proven = Proven { client: &theirs, server: &nonce, job: &job, hello: &their_hello, answer: None };
        proven.check(b"client", self.options, &proof).map_err(|()| self.wrong_token())?;
        proven.answer = Some(&self.options.hello);
        let mut meta = Writer::new();
        meta.bytes(&proven.by(b"server", self.options)).bytes(&self.options.hello);
        self.say(WELCOME, &meta)?;
        Ok(their_hello)
    }

    /// Tells the peer if it is refused, and says what became of it all.
    fn outcome(&mut self, end: std::result::Result<Vec<u8>, End>) -> Outcome {
        match end {
            Ok(hello) => Outcome::Known(hello),
            Err(End::Leave(e)) => Outcome::Refused(e),
            Err(End::Gone(e)) => Outcome::Gone(e),
            Err(End::Refuse(e)) => {
                let mut meta = Writer::new();
                meta.str(&e.report().what);
                // The peer gets the reason as a courtesy: if that fails, it learns less, and we have our error anyway.
                let _ = self.say(REFUSED, &meta);
                Outcome::Refused(e)
            }
        }
    }

    fn say(&mut self, kind: u16, meta: &Writer) -> std::result::Result<(), End> {
        let frame = Outgoing { kind, id: 0, meta: meta.as_bytes(), sections: &[] };
        self.send.send_any(&frame, self.deadline).map_err(End::Gone)
    }

    /// Waits for a frame of this kind.
    fn expect(&mut self, kind: u16) -> std::result::Result<(), End> {
        let peer = self.recv.peer().to_owned();
        match self.recv.recv_any(&mut self.frame, self.deadline) {
            Ok(Received::Frame) if self.frame.kind() == kind => Ok(()),
            Ok(Received::Frame) if self.frame.kind() == REFUSED => Err(self.refused(&peer)),
            Ok(Received::Frame) => {
                let got = self.frame.kind();
                Err(End::Leave(fault::damaged(&peer, format_args!("kind {kind:#x} is expected, {got:#x} came"))))
            }
            Ok(Received::Closed) => Err(End::Gone(fault::truncated_handshake(&peer))),
            Ok(Received::TimedOut) => Err(End::Leave(fault::silent(&peer, self.start.elapsed()))),
            Err(e) if self.recv.was_truncated() => Err(End::Gone(e)),
            // Also a peer of another version understands this much of a frame: which version we have.
            Err(e) => Err(End::Refuse(e)),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&mut Reader<'_>) -> Result<T>) -> std::result::Result<T, End> {
        let what = format!("the handshake of {}", self.recv.peer());
        let mut meta = Reader::new(self.frame.meta(), &what);
        let value = read(&mut meta).map_err(End::Leave)?;
        meta.finish().map_err(End::Leave)?;
        Ok(value)
    }

    /// The peer said no.
    fn refused(&self, peer: &str) -> End {
        match self.read(|meta| Ok(meta.str()?.to_owned())) {
            Ok(why) => End::Leave(fault::network(format!("{peer} refuses this process: {why}")).help(
                "give all processes of a job the same OARLOCK_TOKEN and OARLOCK_JOB_ID, and no other job its ports",
            )),
            Err(end) => end,
        }
    }

    /// Both must have a token, or neither.
    fn same_security(&self, theirs: bool) -> std::result::Result<(), End> {
        let peer = self.recv.peer();
        let what = match (self.options.token.is_some(), theirs) {
            (true, false) => format!("a token is asked for, and {peer} has none"),
            (false, true) => format!("{peer} asks for a token, and this process has none"),
            _ => return Ok(()),
        };
        Err(End::Refuse(fault::network(what).help("set OARLOCK_TOKEN to the same secret for all processes of the job")))
    }

    fn wrong_job(&self, theirs: &str) -> End {
        let (peer, ours) = (self.recv.peer(), &self.options.job);
        End::Refuse(
            fault::network(format!("{peer} belongs to job {theirs:?}, this process to job {ours:?}"))
                .help("give each job its own ports, and all processes of a job the same OARLOCK_JOB_ID"),
        )
    }

    fn wrong_token(&self) -> End {
        let peer = self.recv.peer();
        End::Refuse(
            fault::network(format!("{peer} does not know the token of this job"))
                .help("set OARLOCK_TOKEN to the same secret for all processes of the job"),
        )
    }
}

fn fresh_nonce() -> std::result::Result<Nonce, End> {
    let mut nonce = [0; 32];
    let failed = |e| End::Leave(Error::internal(format!("the system has no random numbers: {e}")));
    getrandom::fill(&mut nonce).map_err(failed)?;
    Ok(nonce)
}

/// The data that a proof covers.
struct Proven<'a> {
    client: &'a [u8],
    server: &'a [u8],
    job: &'a str,
    hello: &'a [u8],
    /// The server's hello, in its proof.
    answer: Option<&'a [u8]>,
}

impl Proven<'_> {
    /// The proof; no bytes if there is no token.
    fn by(&self, who: &[u8], options: &NetOptions) -> Vec<u8> {
        self.mac(who, options).map_or(Vec::new(), |mac| mac.finalize().into_bytes().to_vec())
    }

    /// Is this the proof? Takes as long for a wrong one as for a right one.
    fn check(&self, who: &[u8], options: &NetOptions, proof: &[u8]) -> std::result::Result<(), ()> {
        match self.mac(who, options) {
            Some(mac) => mac.verify_slice(proof).map_err(|_| ()),
            None if proof.is_empty() => Ok(()),
            None => Err(()),
        }
    }

    fn mac(&self, who: &[u8], options: &NetOptions) -> Option<Hmac<Sha256>> {
        let token = options.token.as_ref()?;
        let mut text = Writer::new();
        text.bytes(who).bytes(self.client).bytes(self.server).str(self.job).bytes(self.hello);
        text.bytes(self.answer.unwrap_or_default());
        // An HMAC takes keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).ok()?;
        mac.update(text.as_bytes());
        Some(mac)
    }
}
