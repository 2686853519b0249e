//! One direction of a socket, with a deadline for each call.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::now;

/// Reads until a deadline.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) socket: Arc<TcpStream>,
    pub(super) deadline: Instant,
    /// What the socket was told last.
    timeout: Duration,
}

impl Reading {
    pub(super) fn new(socket: Arc<TcpStream>) -> Reading {
        Reading { socket, deadline: now(), timeout: Duration::MAX }
    }
}

impl Read for Reading {
    /// Fails with `TimedOut` when the deadline has passed; a deadline in the past still takes what is there.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let timeout = step(self.deadline);
            if timeout != self.timeout {
                self.socket.set_read_timeout(Some(timeout))?;
                self.timeout = timeout;
            }
            match (&*self.socket).read(into) {
                Err(e) if must_go_on(&e, self.deadline)? => {}
                done => return done,
            }
        }
    }
}

/// Writes until a deadline.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) socket: Arc<TcpStream>,
    pub(super) deadline: Instant,
    /// What the socket was told last.
    timeout: Duration,
}

impl Writing {
    pub(super) fn new(socket: Arc<TcpStream>) -> Writing {
        Writing { socket, deadline: now(), timeout: Duration::MAX }
    }

    /// Writes some of it; fails with `TimedOut` when the deadline has passed.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            let timeout = step(self.deadline);
            if timeout != self.timeout {
                self.socket.set_write_timeout(Some(timeout))?;
                self.timeout = timeout;
            }
            match (&*self.socket).write_vectored(slices) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(e) if must_go_on(&e, self.deadline)? => {}
                done => return done,
            }
        }
    }
}

/// How long the socket may block in one call: what is left until the deadline, rounded down to a power of two milliseconds. So
/// the socket is told anew (a system call) only now and then, not for each frame, although each frame has its own deadline.
fn step(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(now()).as_millis().clamp(1, 1 << 20);
    Duration::from_millis(1 << left.ilog2())
}

/// Was the call only interrupted, with time left? Fails with `TimedOut` if there is none.
fn must_go_on(e: &io::Error, deadline: Instant) -> io::Result<bool> {
    match e.kind() {
        ErrorKind::Interrupted => Ok(true),
        ErrorKind::WouldBlock | ErrorKind::TimedOut if now() >= deadline => Err(ErrorKind::TimedOut.into()),
        ErrorKind::WouldBlock => Ok(true),
        _ => Ok(false),
    }
}
