//! A connection to a peer that has shown who it is.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use oarlock_ir::Result;
use tracing::debug;

use super::connect;
use super::endpoint::Endpoint;
use super::frame::{Incoming, Outgoing};
use super::handshake::{self, Outcome};
use super::now;
use super::options::NetOptions;
use super::receive::{Received, Receiver};
use super::secure;
use super::send::Sender;

/// A connection. One thread at a time uses it; [`Conn::split`] makes a half for sending and a half for receiving.
///
/// Both ends may send at the same time only if both receive at the same time, too: a peer that only sends soon fills what the
/// system buffers.
#[derive(Debug)]
pub struct Conn {
    sender: Sender,
    receiver: Receiver,
    socket: Arc<TcpStream>,
    peer: Arc<str>,
    /// The `hello` of the peer.
    hello: Vec<u8>,
    /// Set while an accepted peer has not yet shown who it is.
    unknown: Option<Arc<NetOptions>>,
    /// The peer left before it had shown who it is.
    left: bool,
    max_frame: u64,
}

impl Conn {
    /// Connects to `host:port` or `[ipv6]:port`. As long as no process listens there, it tries again until the deadline.
    pub fn connect(endpoint: &str, options: &NetOptions, deadline: Instant) -> Result<Conn> {
        Conn::reach(endpoint, options, deadline).map_err(connect::Failure::into_error)
    }

    /// [`Conn::connect`], for those who try again themselves: the failure says whether that can help.
    pub fn reach(
        endpoint: &str,
        options: &NetOptions,
        deadline: Instant,
    ) -> std::result::Result<Conn, connect::Failure> {
        connect::connect(endpoint, options, deadline)
    }

    /// A connection over a socket, before the handshake.
    pub(super) fn new(socket: TcpStream, peer: Arc<str>, options: &NetOptions) -> Conn {
        let socket = Arc::new(socket);
        Conn {
            sender: Sender::new(socket.clone(), peer.clone(), handshake::LIMIT, options.checksum),
            receiver: Receiver::new(socket.clone(), peer.clone(), handshake::LIMIT),
            socket,
            peer,
            hello: Vec::new(),
            unknown: None,
            left: false,
            max_frame: options.max_frame,
        }
    }

    /// An accepted connection: who is there is asked when it is first used, not in the thread that accepts.
    pub(super) fn accepted(socket: TcpStream, peer: Arc<str>, options: &Arc<NetOptions>) -> Conn {
        Conn { unknown: Some(options.clone()), ..Conn::new(socket, peer, options) }
    }

    /// The peer's address, as in errors.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// The `hello` of the peer's [`NetOptions`], by which it says who it is. On an accepted connection the first call of this, of `send`
    /// or of `recv` waits for it, for [`NetOptions::handshake`] whatever other deadline is given.
    pub fn hello(&mut self) -> Result<&[u8]> {
        if let Some(options) = self.unknown.take() {
            let deadline = now() + options.handshake;
            let outcome = self.welcome(&options, deadline);
            self.left = matches!(outcome, Outcome::Gone(_));
            match outcome.into_result() {
                Ok(hello) => {
                    debug!(peer = self.peer(), "accepted");
                    self.known(hello);
                }
                Err(e) => {
                    debug!(peer = self.peer(), "not accepted: {}", e.report().what);
                    self.closer().close();
                    return Err(e);
                }
            }
        }
        Ok(&self.hello)
    }

    /// Sends a frame; returns when the system has taken all of it. After an error the connection is closed.
    pub fn send(&mut self, frame: &Outgoing<'_>, deadline: Instant) -> Result<()> {
        self.hello()?;
        self.sender.send(frame, deadline)
    }

    /// Waits for a frame. After an error the connection is closed. A peer that disconnects before it sends anything is no error: launchers
    /// and probes of schedulers check in this way whether a process listens.
    pub fn recv(&mut self, into: &mut Incoming, deadline: Instant) -> Result<Received> {
        match self.hello().map(|_| ()) {
            Ok(()) => self.receiver.recv(into, deadline),
            Err(_) if self.left => Ok(Received::Closed),
            Err(e) => Err(e),
        }
    }

    /// Two halves, for two threads.
    pub fn split(mut self) -> Result<(Sender, Receiver)> {
        self.hello()?;
        Ok((self.sender, self.receiver))
    }

    /// From now on the system finds out within some two seconds if nothing reaches the peer's machine; the connection is broken then. It
    /// stands as long as that machine answers, however busy the peer is, and is closed when the peer ends.
    pub fn watch_closely(&self) -> std::io::Result<()> {
        connect::watch_closely(&self.socket)
    }

    /// To look at what was set on it.
    #[cfg(test)]
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// A handle by which any thread can close the connection.
    pub fn closer(&self) -> Closer {
        Closer { socket: self.socket.clone() }
    }

    /// The server's part of the handshake.
    fn welcome(&mut self, options: &NetOptions, deadline: Instant) -> Outcome {
        if let Some(files) = &options.tls
            && let Err(failure) = secure::accept(files, &mut self.sender, &mut self.receiver, deadline)
        {
            return failure;
        }
        handshake::welcome(&mut self.sender, &mut self.receiver, options, deadline)
    }

    /// The client's part of the handshake.
    pub(super) fn greet(&mut self, endpoint: &Endpoint, options: &NetOptions, deadline: Instant) -> Outcome {
        let deadline = deadline.min(now() + options.handshake);
        if let Some(files) = &options.tls
            && let Err(failure) = secure::connect(files, &endpoint.host, &mut self.sender, &mut self.receiver, deadline)
        {
            return failure;
        }
        handshake::greet(&mut self.sender, &mut self.receiver, options, deadline)
    }

    /// The peer has shown who it is: from now on it may send large frames.
    pub(super) fn known(&mut self, hello: Vec<u8>) {
        self.hello = hello;
        self.sender.limit = self.max_frame;
        self.receiver.limit = self.max_frame;
    }
}

/// Closes a connection from any thread: who waits in `send` or `recv` wakes up.
#[derive(Debug, Clone)]
pub struct Closer {
    socket: Arc<TcpStream>,
}

impl Closer {
    /// Closes the connection. The peer, and a `recv` at this end, see it as closed; doing it twice does no harm.
    pub fn close(&self) {
        // A connection that is gone already cannot be shut down, and need not be.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
