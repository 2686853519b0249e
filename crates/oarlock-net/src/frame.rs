//! The layout of a frame, and its checks. Knows no socket.
//!
//! ```text
//! header   48 bytes, see `Header`
//! table    8 bytes per section: its length
//! meta     as long as the header says
//! payload  the sections, each from a multiple of 64 bytes; zeros between
//! check    CRC-32 of the payload, if the header says that there is one
//! ```
//! Numbers are little-endian.

use std::ops::Range;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Buf, Foreign};

use super::fault;

/// The version of the protocol. The first six bytes of a frame (magic and version) are the same in all versions.
pub const VERSION: u16 = 2;

/// Sections start at multiples of this, in the frame's payload and in memory.
pub const ALIGN: usize = 64;

/// Sections a frame may have.
pub const MAX_SECTIONS: usize = 65_536;

/// Bytes a frame's meta may have: it describes, the payload carries.
pub const MAX_META: u64 = 16 << 20;

/// Kinds from here on belong to the wire itself.
pub(super) const OWN_KINDS: u16 = 0xff00;

pub(super) const HEADER: usize = 48;
pub(super) const CHECK: usize = 4;
const MAGIC: [u8; 4] = *b"OARL";
const ENTRY: usize = 8;

/// Flag: a checksum of the payload follows it.
pub(super) const CHECKED: u32 = 1;

/// One frame to send.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The kind of message; below 0xff00, the rest is the wire's own.
    pub kind: u16,
    /// Which one it is; a reply usually carries the id of its request.
    pub id: u64,
    /// The description of the payload; see [`super::codec`].
    pub meta: &'a [u8],
    /// The payload, written from where it lies.
    pub sections: &'a [&'a [u8]],
}

impl Outgoing<'_> {
    /// Its header and table, appended to `front`. Fails if the frame is above a limit; `limit` is in bytes.
    pub(super) fn front(&self, flags: u32, limit: u64, front: &mut Vec<u8>) -> Result<Header> {
        if self.sections.len() > MAX_SECTIONS {
            return Err(too_many(self.sections.len()));
        }
        let mut payload = 0;
        for section in self.sections {
            payload = aligned(payload) + section.len() as u64;
        }
        let mut header = Header {
            kind: self.kind,
            id: self.id,
            flags,
            sections: self.sections.len() as u32,
            meta: self.meta.len() as u64,
            payload,
            front_check: 0,
        };
        if header.meta > MAX_META || header.frame_len().is_none_or(|len| len > limit) {
            return Err(too_long(&header, limit));
        }
        front.resize(HEADER, 0);
        for section in self.sections {
            front.extend_from_slice(&(section.len() as u64).to_le_bytes());
        }
        let mut check = crc32fast::Hasher::new();
        check.update(&front[HEADER..]);
        check.update(self.meta);
        header.front_check = check.finalize();
        front[..HEADER].copy_from_slice(&header.encode());
        Ok(header)
    }
}

fn too_many(sections: usize) -> Error {
    Error::new(Kind::Argument, format!("a frame of {sections} sections cannot be sent, {MAX_SECTIONS} is the limit"))
        .help("send several frames")
}

fn too_long(header: &Header, limit: u64) -> Error {
    let (meta, payload) = (header.meta, header.payload);
    Error::new(
        Kind::Argument,
        format!(
            "a frame of {meta} bytes of meta and {payload} of payload is above the limits of {MAX_META} and {limit}"
        ),
    )
    .help("split it into several frames, or raise OARLOCK_MAX_FRAME on every machine of the job")
}

/// The next multiple of [`ALIGN`].
pub(super) fn aligned(offset: u64) -> u64 {
    offset.next_multiple_of(ALIGN as u64)
}

/// The fields at the start of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u16,
    pub(super) id: u64,
    pub(super) flags: u32,
    pub(super) sections: u32,
    /// Bytes.
    pub(super) meta: u64,
    /// Bytes, with the zeros between sections.
    pub(super) payload: u64,
    /// CRC-32 of table and meta.
    pub(super) front_check: u32,
}

impl Header {
    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.kind.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.id.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.flags.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.sections.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.meta.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.payload.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.front_check.to_le_bytes());
        let check = crc32fast::hash(&bytes[..44]);
        bytes[44..48].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Checks the first bytes of a header, however many came: another protocol is recognised before a whole header has come.
    pub(super) fn glance(came: &[u8], peer: &str) -> Result<()> {
        let magic = came.len().min(MAGIC.len());
        if came[..magic] != MAGIC[..magic] {
            return Err(fault::unknown_protocol(peer, &came[..came.len().min(16)]));
        }
        if let [_, _, _, _, low, high, ..] = *came {
            let theirs = u16::from_le_bytes([low, high]);
            if theirs != VERSION {
                return Err(fault::version(peer, VERSION, theirs));
            }
        }
        Ok(())
    }

    /// The header that these bytes are; fails if it is damaged or announces more than `limit` bytes.
    pub(super) fn parse(bytes: &[u8; HEADER], limit: u64, peer: &str) -> Result<Header> {
        Header::glance(bytes, peer)?;
        if crc32fast::hash(&bytes[..44]) != u32_at(bytes, 44) {
            return Err(fault::damaged(peer, "the checksum of its header is wrong"));
        }
        let header = Header {
            kind: u16::from_le_bytes([bytes[6], bytes[7]]),
            id: u64_at(bytes, 8),
            flags: u32_at(bytes, 16),
            sections: u32_at(bytes, 20),
            meta: u64_at(bytes, 24),
            payload: u64_at(bytes, 32),
            front_check: u32_at(bytes, 40),
        };
        if header.flags & !CHECKED != 0 {
            return Err(fault::damaged(peer, format_args!("its flags are {:#x}, which has no meaning", header.flags)));
        }
        if header.sections as usize > MAX_SECTIONS {
            return Err(fault::too_large(peer, "sections", header.sections.into(), MAX_SECTIONS as u64));
        }
        if header.meta > MAX_META {
            return Err(fault::too_large(peer, "bytes of meta", header.meta, MAX_META));
        }
        match header.frame_len() {
            Some(len) if len <= limit => Ok(header),
            len => Err(fault::too_large(peer, "bytes", len.unwrap_or(u64::MAX), limit)),
        }
    }

    /// Bytes of table and meta.
    pub(super) fn front_len(&self) -> u64 {
        self.table_len().saturating_add(self.meta)
    }

    fn table_len(&self) -> u64 {
        u64::from(self.sections) * ENTRY as u64
    }

    /// Bytes of the checksum that follows the payload.
    pub(super) fn check_len(&self) -> usize {
        if self.flags & CHECKED != 0 { CHECK } else { 0 }
    }

    /// Bytes of the whole frame, unless that is no number.
    pub(super) fn frame_len(&self) -> Option<u64> {
        let rest = self.check_len() as u64 + HEADER as u64;
        self.table_len().checked_add(self.meta)?.checked_add(self.payload)?.checked_add(rest)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// One received frame; its memory is used again for the next one, and keeps the size of the largest.
#[derive(Debug, Default)]
pub struct Incoming {
    pub(super) header: Header,
    /// Table and meta.
    pub(super) front: Vec<u8>,
    /// Where in the payload each section is.
    places: Vec<Range<usize>>,
    /// Shared with readers of sections in place.
    payload: Arc<Buf>,
    /// The checksum of the payload, if it came with the frame.
    pub(super) payload_check: Option<u32>,
}

/// The bytes of a received frame, for a log: written one after the other they are a frame without a checksum of its payload.
#[derive(Debug)]
pub struct FrameParts<'a> {
    /// The header.
    pub header: [u8; HEADER],
    /// Table and meta.
    pub front: &'a [u8],
    /// The sections with the zeros between them.
    pub payload: &'a [u8],
    /// The CRC-32 of the payload, if it is known without reading it.
    pub payload_check: Option<u32>,
}

/// A section of a payload.
struct Section {
    payload: Arc<Buf>,
    place: Range<usize>,
}

impl AsRef<[u8]> for Section {
    fn as_ref(&self) -> &[u8] {
        &self.payload.bytes()[self.place.clone()]
    }
}

impl Incoming {
    /// An empty one.
    pub fn new() -> Incoming {
        Incoming::default()
    }

    /// The kind of message.
    pub fn kind(&self) -> u16 {
        self.header.kind
    }

    /// Which one it is.
    pub fn id(&self) -> u64 {
        self.header.id
    }

    /// The description of the payload.
    pub fn meta(&self) -> &[u8] {
        &self.front[self.places.len() * ENTRY..]
    }

    /// How many sections it has.
    pub fn sections(&self) -> usize {
        self.places.len()
    }

    /// A section, aligned to 64 bytes in memory.
    pub fn section(&self, i: usize) -> Option<&[u8]> {
        self.places.get(i).map(|place| &self.payload.bytes()[place.clone()])
    }

    /// A section, to be read in place for as long as it is held; meanwhile the next frame takes other memory.
    pub fn borrow_section(&self, i: usize) -> Option<Foreign> {
        let place = self.places.get(i)?.clone();
        Some(Arc::new(Section { payload: self.payload.clone(), place }))
    }

    /// The payload, to write. Memory that still has a reader is left to it.
    pub(super) fn payload_mut(&mut self) -> &mut Buf {
        if Arc::get_mut(&mut self.payload).is_none() {
            self.payload = Arc::default();
        }
        // This is the only reference, so nothing is copied.
        Arc::make_mut(&mut self.payload)
    }

    /// The frame as bytes, from where they lie.
    pub fn parts(&self) -> FrameParts<'_> {
        let header = Header { flags: 0, ..self.header }.encode();
        let payload = &self.payload.bytes()[..self.header.payload as usize];
        FrameParts { header, front: &self.front, payload, payload_check: self.payload_check }
    }

    /// Reads a frame that was written as [`Incoming::parts`] are. `origin` names the bytes in errors; they are the frame and nothing else.
    pub fn decode(&mut self, bytes: &[u8], origin: &str) -> Result<()> {
        let damaged = |what: &str| Error::new(Kind::Format, format!("{origin} holds a damaged frame: {what}"));
        let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or_else(|| damaged("it has no header"))?;
        let header = Header::parse(header, bytes.len() as u64, origin)?;
        if header.flags != 0 || header.frame_len() != Some(bytes.len() as u64) {
            return Err(damaged("it has another length than its header says"));
        }
        self.start(header);
        let (front, payload) = rest.split_at(self.front.len());
        self.front.copy_from_slice(front);
        self.check_front(origin)?;
        let room = self.payload_mut();
        room.resize(payload.len());
        room.bytes_mut().copy_from_slice(payload);
        Ok(())
    }

    /// Bytes of memory it holds.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.front.capacity() + self.places.capacity() * size_of::<Range<usize>>() + self.payload.capacity()
    }

    /// Makes it empty, for the frame that follows `header`.
    pub(super) fn start(&mut self, header: Header) {
        self.header = header;
        self.payload_check = None;
        self.places.clear();
        self.front.clear();
        self.front.resize(header.front_len() as usize, 0);
    }

    /// Checks table and meta, which are complete now, and finds the sections.
    pub(super) fn check_front(&mut self, peer: &str) -> Result<()> {
        if crc32fast::hash(&self.front) != self.header.front_check {
            return Err(fault::damaged(peer, "the checksum of its meta is wrong"));
        }
        let mut end = 0_u64;
        for entry in self.front.chunks_exact(ENTRY).take(self.header.sections as usize) {
            let start = aligned(end);
            // The payload fits in memory (the limit was checked), so what lies within it does.
            end = match start.checked_add(u64_at(entry, 0)) {
                Some(end) if end <= self.header.payload => end,
                _ => return Err(fault::damaged(peer, "its sections are longer than its payload")),
            };
            self.places.push(start as usize..end as usize);
        }
        if end != self.header.payload {
            let payload = self.header.payload;
            return Err(fault::damaged(peer, format_args!("its sections take {end} bytes, its payload {payload}")));
        }
        Ok(())
    }
}
