//! The receiving half of a connection: bytes become frames.

use std::io::{BufReader, ErrorKind, Read};
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use oarlock_ir::Result;
use oarlock_tensor::Buf;

use super::fault;
use super::frame::{CHECK, HEADER, Header, Incoming};
use super::stream::Reading;

/// Small frames are read through a buffer: one system call for all of a frame, or for several.
const BUFFER: usize = 64 << 10;

/// Bytes taken from the socket in one call: they are still in the cache when their checksum is computed.
const CHUNK: usize = 256 << 10;

/// A peer gets more memory than this only after it has sent as much.
const FIRST_MEMORY: usize = 16 << 20;

/// The result of waiting for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Received {
    /// A frame came.
    Frame,
    /// The peer closed the connection, between two frames.
    Closed,
    /// The deadline passed. A frame that was under way is not lost: the next call goes on with it.
    TimedOut,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct Receiver {
    reader: BufReader<Reading>,
    peer: Arc<str>,
    /// Bytes a frame may have.
    pub(super) limit: u64,
    stage: Stage,
    /// Bytes of this stage that came.
    got: usize,
    header: [u8; HEADER],
    trailer: [u8; CHECK],
    /// Checksum of the payload so far.
    check: crc32fast::Hasher,
    /// The frame under way, while no caller waits for it.
    parked: Incoming,
    /// After an error nothing more is read: where the next frame would start is unknown.
    failed: bool,
    /// The error was that nothing more came.
    truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    Front,
    Payload,
    Trailer,
}

impl Receiver {
    pub(super) fn new(socket: Arc<TcpStream>, peer: Arc<str>, limit: u64) -> Receiver {
        Receiver {
            reader: BufReader::with_capacity(BUFFER, Reading::new(socket)),
            peer,
            limit,
            stage: Stage::Header,
            got: 0,
            header: [0; HEADER],
            trailer: [0; CHECK],
            check: crc32fast::Hasher::new(),
            parked: Incoming::new(),
            failed: false,
            truncated: false,
        }
    }

    /// Waits for a frame. After an error the connection is closed.
    pub fn recv(&mut self, into: &mut Incoming, deadline: Instant) -> Result<Received> {
        self.recv_any(into, deadline).inspect_err(|_| {
            // A connection that is gone already cannot be shut down, and need not be.
            let _ = self.reader.get_ref().socket().shutdown(Shutdown::Both);
        })
    }

    /// Waits for a frame. After an error nothing more comes, but an error can still be sent to the peer.
    pub(super) fn recv_any(&mut self, into: &mut Incoming, deadline: Instant) -> Result<Received> {
        if self.failed {
            return Ok(Received::Closed);
        }
        if self.under_way() {
            mem::swap(&mut self.parked, into);
        }
        self.reader.get_mut().set_deadline(deadline);
        let received = self.advance(into);
        match received {
            Err(_) => self.failed = true,
            Ok(Received::TimedOut) if self.under_way() => mem::swap(&mut self.parked, into),
            Ok(_) => {}
        }
        received
    }

    /// The peer, as in errors.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// The direction of the socket, for what comes before the first frame.
    #[cfg(feature = "tls")]
    pub(super) fn reading(&mut self) -> &mut Reading {
        self.reader.get_mut()
    }

    /// Did the connection end, where it should not have, rather than bring something wrong?
    pub(super) fn was_truncated(&self) -> bool {
        self.failed && self.truncated
    }

    fn under_way(&self) -> bool {
        self.stage != Stage::Header
    }

    /// Reads until the frame is complete, or time is up.
    fn advance(&mut self, frame: &mut Incoming) -> Result<Received> {
        loop {
            let checked = self.stage == Stage::Payload && frame.header.check_len() > 0;
            let part = match self.stage {
                Stage::Header => &mut self.header[..],
                Stage::Front => &mut frame.front[..],
                Stage::Payload => frame.payload_mut().bytes_mut(),
                Stage::Trailer => &mut self.trailer[..],
            };
            if self.got == part.len() {
                if self.complete(frame)? {
                    return Ok(Received::Frame);
                }
                continue;
            }
            let end = part.len().min(self.got + CHUNK);
            let n = match self.reader.read(&mut part[self.got..end]) {
                Ok(0) if self.stage == Stage::Header && self.got == 0 => return Ok(Received::Closed),
                Ok(0) => {
                    self.truncated = true;
                    return Err(self.truncated_error(frame));
                }
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::TimedOut => return Ok(Received::TimedOut),
                Err(e) => {
                    self.truncated = true;
                    return Err(fault::broken("receiving", &self.peer, &e));
                }
            };
            let came = &part[self.got..self.got + n];
            if checked {
                self.check.update(came);
            }
            self.got += n;
            if self.stage == Stage::Header {
                Header::glance(&self.header[..self.got], &self.peer)?;
            }
        }
    }

    /// The part is complete: checks it and turns to the next. True if it was the last.
    fn complete(&mut self, frame: &mut Incoming) -> Result<bool> {
        match self.stage {
            Stage::Header => {
                frame.start(Header::parse(&self.header, self.limit, &self.peer)?);
                self.turn_to(Stage::Front);
            }
            Stage::Front => {
                frame.check_front(&self.peer)?;
                let all = frame.header.payload as usize;
                let payload = frame.payload_mut();
                payload.resize(all.min(FIRST_MEMORY.max(payload.capacity())));
                self.check = crc32fast::Hasher::new();
                self.turn_to(Stage::Payload);
            }
            Stage::Payload if self.got < frame.header.payload as usize => {
                let all = frame.header.payload as usize;
                grow(frame.payload_mut(), all);
            }
            Stage::Payload if frame.header.check_len() > 0 => self.turn_to(Stage::Trailer),
            Stage::Payload => {
                self.turn_to(Stage::Header);
                return Ok(true);
            }
            Stage::Trailer => {
                if mem::take(&mut self.check).finalize() != u32::from_le_bytes(self.trailer) {
                    return Err(fault::damaged(&self.peer, "the checksum of its payload is wrong"));
                }
                frame.payload_check = Some(u32::from_le_bytes(self.trailer));
                self.turn_to(Stage::Header);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn turn_to(&mut self, stage: Stage) {
        self.stage = stage;
        self.got = 0;
    }

    fn truncated_error(&self, frame: &Incoming) -> oarlock_ir::Error {
        let front = frame.header.front_len();
        let before = match self.stage {
            Stage::Header => return fault::truncated(&self.peer, self.got as u64, HEADER as u64),
            Stage::Front => HEADER as u64,
            Stage::Payload => HEADER as u64 + front,
            Stage::Trailer => HEADER as u64 + front + frame.header.payload,
        };
        fault::truncated(&self.peer, before + self.got as u64, frame.header.frame_len().unwrap_or(u64::MAX))
    }
}

/// Makes room for more of a payload, up to `all` bytes, and keeps what it holds.
fn grow(payload: &mut Buf, all: usize) {
    let mut larger = Buf::new();
    let len = all.min(payload.len().saturating_mul(4));
    // Frames of one kind differ a little in size: with some room more, the next ones need no other memory.
    larger.resize(len.saturating_add(len / 8));
    larger.resize(len);
    larger.bytes_mut()[..payload.len()].copy_from_slice(payload.bytes());
    *payload = larger;
}
