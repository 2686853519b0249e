//! One server as a trainer sees it: its connections, and requests, which are retried over a new connection while the reply is missing.
//!
//! The first connection tells the server's identity, and every later one is compared with it ([`history`]): a server that was restarted
//! without what it acknowledged is refused.

mod history;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;
use tracing::{info, warn};

use super::ClientOptions;
use crate::protocol::error::decode_error;
use crate::protocol::reply;
use crate::request::hello::{Hello, Purpose, Welcome};
use crate::request::push;
use history::History;
use oarlock_net::codec::Reader;
use oarlock_net::{Conn, Failure, Incoming, Outgoing, Received, now};

/// A request, ready to be sent as often as needed.
pub(crate) struct Request<'a> {
    pub(crate) kind: u16,
    pub(crate) meta: &'a [u8],
    pub(crate) sections: &'a [&'a [u8]],
    /// Its subject, for error messages: `the push of step 7`.
    pub(crate) about: &'a dyn Fn() -> String,
}

/// How often a trainer logs that it waits for a server.
const REMIND: Duration = Duration::from_secs(3);

/// How often a wait for a reply checks for an interruption.
const INTERRUPT_CHECK: Duration = Duration::from_millis(200);

/// The process that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) trainer: u32,
    pub(crate) incarnation: u64,
    /// Reads only: never counted as a trainer.
    pub(crate) read_only: bool,
}

/// A server.
pub(crate) struct Peer {
    pub(crate) endpoint: String,
    identity: Identity,
    options: ClientOptions,
    unused: Mutex<Vec<Link>>,
    streams: AtomicU32,
    history: History,
}

/// A stream of requests to a server: one request at a time, over one connection at a time.
pub(crate) struct Link {
    conn: Option<Conn>,
    stream: u32,
    /// The number of the request under way; a retry keeps it, so that the server recognizes the duplicate.
    sequence: u64,
    /// The number of the last push that was acknowledged.
    acknowledged: u64,
    /// The last reply.
    pub(crate) reply: Incoming,
    /// Of the last handshake.
    pub(crate) welcome: Option<Welcome>,
}

impl Peer {
    pub(crate) fn new(endpoint: &str, identity: Identity, options: &ClientOptions) -> Peer {
        Peer {
            endpoint: endpoint.to_string(),
            identity,
            options: options.clone(),
            unused: Mutex::default(),
            streams: AtomicU32::new(0),
            history: History::default(),
        }
    }

    /// Takes a stream that no request uses now.
    pub(crate) fn take(&self) -> Link {
        let unused = self.unused.lock().pop();
        unused.unwrap_or_else(|| Link {
            conn: None,
            stream: self.streams.fetch_add(1, Ordering::Relaxed),
            sequence: 0,
            acknowledged: 0,
            reply: Incoming::new(),
            welcome: None,
        })
    }

    /// Keeps a stream for the next request.
    pub(crate) fn give_back(&self, link: Link) {
        self.unused.lock().push(link);
    }

    /// Lets go of the memory of replies.
    pub(super) fn trim(&self) {
        self.unused.lock().iter_mut().for_each(|link| link.reply = Incoming::new());
    }

    /// Sends a request, and waits for its reply.
    pub(crate) fn ask(&self, link: &mut Link, request: &Request<'_>, deadline: Instant) -> Result<()> {
        self.begin(link, request, deadline)?;
        self.finish(link, request, deadline)
    }

    /// Sends a request for the first time. A failure shows when the reply is awaited, and the request is then sent again.
    pub(crate) fn begin(&self, link: &mut Link, request: &Request<'_>, deadline: Instant) -> Result<()> {
        link.sequence += 1;
        if link.conn.is_none() {
            // A reader does not wait for a server to be started.
            let until = if self.identity.read_only { self.options.reconnect_until(deadline) } else { deadline };
            self.connect(link, until).map_err(|e| self.about(e.into_error(), request))?;
        }
        if self.send(link, request, deadline).is_err() {
            link.conn = None;
        }
        Ok(())
    }

    fn send(&self, link: &mut Link, request: &Request<'_>, deadline: Instant) -> Result<()> {
        let out = Outgoing { kind: request.kind, id: link.sequence, meta: request.meta, sections: request.sections };
        match &mut link.conn {
            Some(conn) => conn.send(&out, deadline),
            None => Err(Error::internal("no connection")),
        }
    }

    /// Waits for the reply; sends the request again over a new connection as often as the connection breaks.
    pub(crate) fn finish(&self, link: &mut Link, request: &Request<'_>, deadline: Instant) -> Result<()> {
        loop {
            match self.receive(link, deadline) {
                Ok(()) => break,
                Err(e) if e.kind() != Kind::Network || now() >= deadline => {
                    link.conn = None;
                    return Err(self.about(e, request));
                }
                Err(e) => {
                    link.conn = None;
                    self.reconnect(link, deadline).map_err(|again| {
                        self.about(again, request).note(format!("the connection broke before: {}", e.report().what))
                    })?;
                    if self.send(link, request, deadline).is_err() {
                        link.conn = None;
                    }
                }
            }
        }
        if link.reply.kind() == reply::FAILED {
            let error = decode_error(&mut Reader::new(link.reply.meta(), "a message"), &self.endpoint)?;
            return Err(self.about(error, request));
        }
        if request.kind == push::REQUEST.kind {
            link.acknowledged = link.sequence;
        }
        Ok(())
    }

    fn receive(&self, link: &mut Link, deadline: Instant) -> Result<()> {
        let broken = |what: &str| Error::new(Kind::Network, format!("{what} by server {}", self.endpoint));
        let Some(conn) = &mut link.conn else { return Err(broken("the connection was closed")) };
        loop {
            match conn.recv(&mut link.reply, deadline.min(now() + INTERRUPT_CHECK))? {
                // A late reply to a request that was retried meanwhile is not the one that is awaited.
                Received::Frame if link.reply.id() != link.sequence => {}
                Received::Frame => return Ok(()),
                Received::Closed => return Err(broken("the connection was closed")),
                Received::TimedOut if now() < deadline => self.options.check_interrupted()?,
                Received::TimedOut => {
                    let waited = self.options.deadline.as_secs();
                    return Err(Error::new(
                        Kind::Timeout,
                        format!("server {} did not answer in {waited} s", self.endpoint),
                    )
                    .help("look at the server's log; FLAGS_rpc_deadline (milliseconds) sets how long to wait"));
                }
            }
        }
    }

    fn connect(&self, link: &mut Link, deadline: Instant) -> std::result::Result<(), Failure> {
        let purpose = if self.identity.read_only { Purpose::ReadOnly } else { Purpose::Requests };
        let (conn, welcome) = self.try_open(purpose, link.stream, deadline)?;
        if !self.identity.read_only {
            self.history.check_stream(&self.endpoint, link.acknowledged, &welcome).map_err(Failure::Final)?;
        }
        if self.identity.read_only
            && let Err(e) = conn.watch_closely()
        {
            warn!(peer = %self.endpoint, "the loss of {} would be noticed late: {e}", self.endpoint);
        }
        link.conn = Some(conn);
        link.welcome = Some(welcome);
        Ok(())
    }

    /// Connects again after the connection broke. A server with a log may be restarted: it is waited for until the deadline of the
    /// request; another one only for a while.
    fn reconnect(&self, link: &mut Link, deadline: Instant) -> Result<()> {
        if !self.has_log() {
            return self.connect(link, self.options.reconnect_until(deadline)).map_err(Failure::into_error);
        }
        let start = now();
        loop {
            let connected = self.connect(link, deadline.min(now() + REMIND));
            let waited = start.elapsed().as_secs();
            match connected {
                Ok(()) if waited == 0 => return Ok(()),
                Ok(()) => {
                    info!(peer = %self.endpoint, "server {} is back after {waited} s", self.endpoint);
                    return Ok(());
                }
                Err(Failure::Final(e)) => return Err(e),
                Err(failure) if now() >= deadline => return Err(failure.into_error()),
                Err(_) => self.options.check_interrupted()?,
            }
            let limit = deadline.saturating_duration_since(start).as_secs();
            info!(
                peer = %self.endpoint,
                "waiting for server {} ({waited} s of at most {limit} s): it is gone, and keeps a log to be restarted with",
                self.endpoint
            );
        }
    }

    /// Does the server keep a log, as far as it is known?
    pub(crate) fn has_log(&self) -> bool {
        self.history.has_log()
    }

    /// The server acknowledged a push of this trainer, of this step if steps are counted.
    pub(crate) fn count_push(&self, step: u64) {
        self.history.count_push(step);
    }

    /// Opens a connection and introduces this process.
    pub(crate) fn open(&self, purpose: Purpose, stream: u32, deadline: Instant) -> Result<(Conn, Welcome)> {
        self.try_open(purpose, stream, deadline).map_err(Failure::into_error)
    }

    /// The same; the error tells whether the server may not be there yet, or waiting cannot help.
    fn try_open(
        &self,
        purpose: Purpose,
        stream: u32,
        deadline: Instant,
    ) -> std::result::Result<(Conn, Welcome), Failure> {
        let conn = Conn::reach(&self.endpoint, &self.options.net, deadline)?;
        let (conn, welcome) = self.say_hello(conn, purpose, stream, deadline)?;
        // A reader may outlive the job that it reads from, and the next one go on in its place.
        if !self.identity.read_only {
            self.history.check(&self.endpoint, &welcome).map_err(Failure::Final)?;
        }
        Ok((conn, welcome))
    }

    /// Checks that the server answers. The error tells whether it may not be there yet, or waiting cannot help.
    pub(super) fn probe(&self, deadline: Instant) -> std::result::Result<(), Failure> {
        let conn = Conn::reach(&self.endpoint, &self.options.net, deadline)?;
        self.say_hello(conn, Purpose::ReadOnly, 0, deadline).map(drop)
    }

    /// The hello of this process for a new connection.
    pub(crate) fn hello(&self, purpose: Purpose, stream: u32) -> Hello {
        Hello {
            purpose,
            trainer: self.identity.trainer,
            incarnation: self.identity.incarnation,
            stream,
            fingerprint: self.options.fingerprint.clone(),
        }
    }

    /// Adds the subject of the request.
    fn about(&self, error: Error, request: &Request<'_>) -> Error {
        let process = match self.identity {
            Identity { read_only: true, .. } => "a reader".to_string(),
            Identity { trainer, .. } => format!("trainer {trainer}"),
        };
        error.note(format!("while {process} waited for {}", (request.about)()))
    }
}
