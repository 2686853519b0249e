//! The two directions of a socket, with a deadline for each call, encrypted or not.

use std::fmt::Debug;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::now;

/// The encryption of a connection; both directions share it, each in its own thread.
pub(super) trait Cipher: Debug + Send + Sync {
    /// Some of the plain bytes that came, read from `socket` if there are none; 0 at the end.
    fn decrypt(&self, socket: &mut dyn Read, into: &mut [u8]) -> io::Result<usize>;

    /// Appends the encrypted form of some of the pieces, and says how many bytes that was.
    fn encrypt(&self, pieces: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize>;
}

/// A socket and the time until which it may block.
#[derive(Debug)]
struct Timed {
    socket: Arc<TcpStream>,
    deadline: Instant,
    /// The timeout that the socket has.
    timeout: Duration,
}

impl Timed {
    fn new(socket: Arc<TcpStream>) -> Timed {
        Timed { socket, deadline: now(), timeout: Duration::MAX }
    }

    /// Calls until it is done, or fails with `TimedOut` when the deadline has passed; a deadline in the past still does what
    /// can be done at once. `tell` sets the socket's time limit.
    fn until_deadline(
        &mut self,
        tell: impl Fn(&TcpStream, Option<Duration>) -> io::Result<()>,
        mut call: impl FnMut(&mut &TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let timeout = step(self.deadline);
            if timeout != self.timeout {
                tell(&self.socket, Some(timeout))?;
                self.timeout = timeout;
            }
            match call(&mut &*self.socket) {
                Err(e) if must_go_on(&e, self.deadline)? => {}
                done => return done,
            }
        }
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.until_deadline(TcpStream::set_read_timeout, |socket| socket.read(into))
    }
}

/// Reads until a deadline.
#[derive(Debug)]
pub(super) struct Reading {
    raw: Timed,
    cipher: Option<Arc<dyn Cipher>>,
}

impl Reading {
    pub(super) fn new(socket: Arc<TcpStream>) -> Reading {
        Reading { raw: Timed::new(socket), cipher: None }
    }

    #[cfg(feature = "tls")]
    pub(super) fn set_cipher(&mut self, cipher: Arc<dyn Cipher>) {
        self.cipher = Some(cipher);
    }

    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.raw.deadline = deadline;
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.raw.socket
    }
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &self.cipher {
            Some(cipher) => cipher.decrypt(&mut self.raw, into),
            None => self.raw.read(into),
        }
    }
}

/// Writes until a deadline.
#[derive(Debug)]
pub(super) struct Writing {
    raw: Timed,
    cipher: Option<Arc<dyn Cipher>>,
    /// Encrypted bytes on their way.
    encrypted: Vec<u8>,
}

impl Writing {
    pub(super) fn new(socket: Arc<TcpStream>) -> Writing {
        Writing { raw: Timed::new(socket), cipher: None, encrypted: Vec::new() }
    }

    #[cfg(feature = "tls")]
    pub(super) fn set_cipher(&mut self, cipher: Arc<dyn Cipher>) {
        self.cipher = Some(cipher);
    }

    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.raw.deadline = deadline;
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.raw.socket
    }

    /// Writes some of the pieces. An error leaves an unknown part of them written.
    pub(super) fn write_pieces(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(cipher) = &self.cipher else { return self.write_raw(pieces) };
        let mut bytes = std::mem::take(&mut self.encrypted);
        bytes.clear();
        let taken = cipher.encrypt(pieces, &mut bytes)?;
        self.write_all(&bytes)?;
        self.encrypted = bytes;
        Ok(taken)
    }

    /// The runtimes of Rust and Python ignore SIGPIPE, so a peer that has gone is an error here, not the end of the process.
    fn write_raw(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.raw.until_deadline(TcpStream::set_write_timeout, |socket| socket.write_vectored(pieces))? {
            0 => Err(ErrorKind::WriteZero.into()),
            n => Ok(n),
        }
    }
}

/// The socket itself, beneath any encryption.
impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_raw(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How long the socket may block in one call: what is left until the deadline, rounded down to a power of two milliseconds. So
/// the timeout of the socket is set anew (a system call) only now and then, not for each frame, although each frame has its own deadline.
fn step(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(now()).as_millis().clamp(1, 1 << 20);
    Duration::from_millis(1 << left.ilog2())
}

/// Was the call only interrupted, with time left? Fails with `TimedOut` if there is none.
fn must_go_on(e: &io::Error, deadline: Instant) -> io::Result<bool> {
    match e.kind() {
        ErrorKind::Interrupted => Ok(true),
        ErrorKind::WouldBlock if now() >= deadline => Err(ErrorKind::TimedOut.into()),
        ErrorKind::WouldBlock => Ok(true),
        _ => Ok(false),
    }
}
