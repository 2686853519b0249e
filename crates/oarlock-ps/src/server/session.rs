//! One connection of a server: receives requests, dispatches each to its definition, sends the replies.
//!
//! A request does its work in its own file ([`crate::request`]); this loop only decides whether its sender may send it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Conn, Incoming, READS, Received, now};
use tracing::warn;

use super::Shared;
use super::call::Call;
use super::reply::Reply;
use crate::protocol::{Message, RequestDef, Sender, request_of};
use crate::request::hello::{self, Hello, Purpose};
use crate::request::push::PushBuffers;

/// How often a silent connection checks whether the server stops.
const STOP_CHECK: Duration = Duration::from_millis(200);

/// How long a peer may take to introduce itself.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The peer closed it, or this server stops.
    Closed,
    /// The peer cannot be reached any more.
    Broken,
}

pub(super) struct Session {
    shared: Arc<Shared>,
    conn: Conn,
    /// Set when the peer has introduced itself.
    known: Arc<AtomicBool>,
    frame: Incoming,
    reply: Reply,
    push: PushBuffers,
    /// The record of the request under way in the log of the server, 0 for none.
    logged: u64,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, conn: Conn, known: Arc<AtomicBool>) -> Session {
        let (reply, push) = (Reply::default(), PushBuffers::default());
        Session { shared, conn, known, frame: Incoming::new(), reply, push, logged: 0 }
    }

    /// Serves until the connection closes or the server stops.
    pub(super) fn run(mut self) {
        match self.greet() {
            Ok(Some(hello)) => {
                self.known.store(true, Ordering::Release);
                if hello.purpose == Purpose::Heartbeat
                    && let Err(e) = self.conn.watch_closely()
                {
                    let peer = self.conn.peer();
                    warn!(role = "server", peer, "the loss of {peer} would be noticed late: {e}");
                }
                let end = self.serve(&hello);
                if !hello.is_read_only() {
                    self.shared.closed(&hello, end);
                }
            }
            Ok(None) => {}
            Err(e) => {
                self.shared.unauthenticated.rejected(self.conn.peer(), &e.report().what, now());
                // An unauthenticated peer may not even read.
                let _ = self.reply.send_error(&mut self.conn, 0, &e);
            }
        }
    }

    /// Serves the hello. `None` if the connection closes before it.
    fn greet(&mut self) -> Result<Option<Hello>> {
        match self.conn.recv(&mut self.frame, now() + HELLO_TIMEOUT)? {
            Received::Frame => {}
            Received::Closed => return Ok(None),
            Received::TimedOut => return Err(Error::new(Kind::Timeout, "it connected and sent nothing")),
        }
        if self.frame.kind() != hello::REQUEST.kind {
            return Err(Error::new(Kind::Format, format!("it began with a frame of kind {}", self.frame.kind())));
        }
        let hello = Hello::read(&self.frame)?;
        if !hello.is_read_only() && self.conn.hello()? == READS {
            return Err(Error::new(Kind::Format, "it introduced itself as a reader, and then as a trainer"));
        }
        self.apply(&hello::REQUEST, &hello)?;
        if let Err(e) = self.reply.send(&mut self.conn, self.frame.id()) {
            if !hello.is_read_only() {
                self.shared.closed(&hello, End::Broken);
            }
            return Err(e);
        }
        Ok(Some(hello))
    }

    fn serve(&mut self, hello: &Hello) -> End {
        while !self.shared.stop.load(Ordering::Acquire) {
            match self.conn.recv(&mut self.frame, now() + STOP_CHECK) {
                Ok(Received::TimedOut) => continue,
                Ok(Received::Closed) => return End::Closed,
                Ok(Received::Frame) => {}
                Err(e) => {
                    warn!(role = "server", peer = self.conn.peer(), "{e}");
                    return End::Broken;
                }
            }
            if !hello.is_read_only() {
                self.shared.seen(hello.trainer, hello.incarnation);
            }
            let served = self.permitted(hello).and_then(|request| self.answer_safely(request, hello));
            if let Err(e) = served
                && self.reply.send_error(&mut self.conn, self.frame.id(), &e).is_err()
            {
                return End::Broken;
            }
        }
        End::Closed
    }

    /// The request that was received last, if this peer may send it.
    fn permitted(&self, hello: &Hello) -> Result<&'static RequestDef> {
        let kind = self.frame.kind();
        let is_trainer = hello.purpose == Purpose::Requests;
        let may_send = |request: &&RequestDef| match request.sender {
            Sender::BeforeHello => false,
            Sender::Anyone => true,
            Sender::Trainer | Sender::ActiveTrainer => is_trainer,
        };
        let request = request_of(kind).filter(may_send).ok_or_else(|| {
            Error::new(Kind::Format, format!("a server does not serve frames of kind {kind}"))
                .help("trainers and servers must be of one release of Oarlock")
        })?;
        if request.sender == Sender::ActiveTrainer {
            self.shared.check_active(hello)?;
        }
        Ok(request)
    }

    /// Serves a request. A panic fails the job: it is unknown how much of the request was done.
    fn answer_safely(&mut self, request: &RequestDef, hello: &Hello) -> Result<()> {
        let shared = self.shared.clone();
        let answered = catch_unwind(AssertUnwindSafe(|| match (shared.profile.clone(), request.profile) {
            (Some(profile), Some(name)) => profile.time(name, || self.answer(request, hello)),
            _ => self.answer(request, hello),
        }));
        answered.unwrap_or_else(|panic| Err(shared.fail_after_panic(request.kind, hello.trainer, &*panic)))
    }

    fn answer(&mut self, request: &RequestDef, hello: &Hello) -> Result<()> {
        self.apply(request, hello)?;
        if self.logged > 0
            && let Some(log) = self.shared.log.get()
        {
            log.commit(self.logged)?;
        }
        self.reply.send(&mut self.conn, self.frame.id())?;
        if let Some(after_reply) = request.after_reply {
            after_reply(&self.call(hello));
        }
        Ok(())
    }

    fn apply(&mut self, request: &RequestDef, hello: &Hello) -> Result<()> {
        self.reply.begin();
        self.logged = 0;
        (request.apply)(&mut self.call(hello))
    }

    fn call<'a>(&'a mut self, hello: &'a Hello) -> Call<'a> {
        let (shared, peer) = (&self.shared, self.conn.peer());
        let (frame, reply, push, logged) = (&self.frame, &mut self.reply, &mut self.push, &mut self.logged);
        Call { shared, hello, frame, peer, reply, push, logged }
    }
}
