//! The sending half of a connection: frames become bytes.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use oarlock_ir::{Error, Result};

use super::fault;
use super::frame::{ALIGN, CHECKED, OWN_KINDS, Outgoing, aligned};
use super::stream::Writing;

/// Bytes handed to the system in one call: they are still in the cache from computing their checksum.
const CHUNK: usize = 256 << 10;

/// Pieces handed to the system in one call; it takes at most 1024.
const PIECES: usize = 256;

static ZEROS: [u8; ALIGN] = [0; ALIGN];

/// The sending half of a connection.
#[derive(Debug)]
pub struct Sender {
    pub(super) writer: Writing,
    peer: Arc<str>,
    /// Bytes a frame may have.
    pub(super) limit: u64,
    /// Send a checksum of each payload?
    checked: bool,
    /// Header and table of the frame being sent.
    front: Vec<u8>,
    /// After an error nothing more is sent: the peer has half a frame.
    failed: bool,
}

impl Sender {
    pub(super) fn new(socket: Arc<TcpStream>, peer: Arc<str>, limit: u64, checked: bool) -> Sender {
        Sender { writer: Writing::new(socket), peer, limit, checked, front: Vec::new(), failed: false }
    }

    /// Sends a frame; returns when the system has taken all of it. After an error the connection is closed, except that a frame
    /// above a limit is refused before any byte is sent.
    pub fn send(&mut self, frame: &Outgoing<'_>, deadline: Instant) -> Result<()> {
        if frame.kind >= OWN_KINDS {
            return Err(Error::internal(format!("frames of kind {:#x} belong to the wire", frame.kind)));
        }
        self.send_any(frame, deadline)
    }

    /// The peer, as in errors.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Encrypts from here on. TLS notices every changed bit, so the checksum of the payload is not needed.
    #[cfg(feature = "tls")]
    pub(super) fn set_cipher(&mut self, cipher: Arc<dyn super::stream::Cipher>) {
        self.writer.set_cipher(cipher);
        self.checked = false;
    }

    /// Sends a frame, which may be one of the wire's own.
    pub(super) fn send_any(&mut self, frame: &Outgoing<'_>, deadline: Instant) -> Result<()> {
        if self.failed {
            return Err(fault::network(format!("the connection to {} was closed after an error", self.peer)));
        }
        let mut front = std::mem::take(&mut self.front);
        front.clear();
        let flags = if self.checked { CHECKED } else { 0 };
        let header = frame.front(flags, self.limit, &mut front)?;
        self.writer.set_deadline(deadline);
        let mut sent = 0;
        let outcome = write(&mut self.writer, &front, frame, self.checked, &mut sent);
        self.front = front;
        outcome.map_err(|e| {
            self.failed = true;
            // A connection that is gone already cannot be shut down, and need not be.
            let _ = self.writer.socket().shutdown(Shutdown::Both);
            match e.kind() {
                ErrorKind::TimedOut => fault::stuck(&self.peer, sent, header.frame_len().unwrap_or(u64::MAX)),
                _ => fault::broken("sending", &self.peer, &e),
            }
        })
    }
}

/// Writes a frame, whose header and table are `front`; counts what was `sent`, also if it fails.
fn write(to: &mut Writing, front: &[u8], frame: &Outgoing<'_>, checked: bool, sent: &mut u64) -> io::Result<()> {
    let trailer;
    let mut batch = Batch { to, pieces: Vec::with_capacity(PIECES.min(2 * frame.sections.len() + 3)), bytes: 0, sent };
    batch.put(front, None)?;
    batch.put(frame.meta, None)?;
    let mut check = checked.then(crc32fast::Hasher::new);
    let mut offset = 0;
    for section in frame.sections {
        let gap = (aligned(offset) - offset) as usize;
        batch.put(&ZEROS[..gap], check.as_mut())?;
        batch.put(section, check.as_mut())?;
        offset += (gap + section.len()) as u64;
    }
    if let Some(check) = check {
        trailer = check.finalize().to_le_bytes();
        batch.put(&trailer, None)?;
    }
    batch.flush()
}

/// Pieces of a frame that will be written together.
struct Batch<'w, 'f> {
    to: &'w mut Writing,
    pieces: Vec<IoSlice<'f>>,
    /// Bytes of the pieces.
    bytes: usize,
    /// Bytes written.
    sent: &'w mut u64,
}

impl<'f> Batch<'_, 'f> {
    /// Adds bytes to the checksum and to the batch, which is written when it has become large.
    fn put(&mut self, bytes: &'f [u8], mut check: Option<&mut crc32fast::Hasher>) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            if let Some(check) = &mut check {
                check.update(chunk);
            }
            self.pieces.push(IoSlice::new(chunk));
            self.bytes += chunk.len();
            if self.bytes >= CHUNK || self.pieces.len() == PIECES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut left = &mut self.pieces[..];
        while !left.is_empty() {
            let n = self.to.write_pieces(left)?;
            *self.sent += n as u64;
            IoSlice::advance_slices(&mut left, n);
        }
        self.pieces.clear();
        self.bytes = 0;
        Ok(())
    }
}
