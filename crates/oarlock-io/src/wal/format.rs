//! The bytes of segments and records.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oarlock_ir::{Error, Kind, Result};

use super::Payload;
use crate::store::io_error;

pub(super) const SEGMENT_HEADER: usize = 64;
pub(super) const RECORD_HEADER: usize = 24;
pub(super) const RECORD_MAGIC: [u8; 4] = *b"WREC";
const SEGMENT_MAGIC: [u8; 8] = *b"OARLKWAL";
const VERSION: u32 = 1;
const LINEAGE: usize = 32;

pub(super) fn segment_name(number: u64) -> String {
    format!("segment-{number:08}.log")
}

/// The segments of a folder, ascending.
pub(super) fn segments(dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let failed = |e: io::Error| io_error("read", dir.display(), &e);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("segment-")?.strip_suffix(".log")?.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    found.sort_unstable();
    Ok(found)
}

/// The header of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) lineage: String,
    pub(super) number: u64,
    /// The record before its first one.
    pub(super) before: u64,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let lineage = &self.lineage.as_bytes()[..self.lineage.len().min(LINEAGE)];
        bytes[16..16 + lineage.len()].copy_from_slice(lineage);
        bytes[48..56].copy_from_slice(&self.number.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.before.to_le_bytes());
        let check = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; SEGMENT_HEADER], path: &Path) -> Result<SegmentHeader> {
        if bytes[..8] != SEGMENT_MAGIC {
            return Err(Error::new(Kind::Format, format!("{} is not a segment of a log", path.display()))
                .help("restore the file from a good copy, or start the job again under another name"));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            let what = format!("{} has version {version} of the log, and this release knows {VERSION}", path.display());
            return Err(Error::new(Kind::Unsupported, what).help("go on with the release of Oarlock that wrote it"));
        }
        if crc32fast::hash(&bytes[16..]) != u32_at(bytes, 12) {
            let what = format!("{} is damaged: the checksum of its header is wrong", path.display());
            return Err(Error::new(Kind::Format, what).help("restore the file from a good copy"));
        }
        let lineage = bytes[16..48].split(|byte| *byte == 0).next().unwrap_or_default();
        let lineage = String::from_utf8_lossy(lineage).into_owned();
        Ok(SegmentHeader { lineage, number: u64_at(bytes, 48), before: u64_at(bytes, 56) })
    }
}

/// The header of a record with this body, and the bytes of the body.
pub(super) fn record_header(sequence: u64, parts: &[&[u8]], payload: Payload<'_>) -> ([u8; RECORD_HEADER], u64) {
    let body = parts.iter().map(|part| part.len() as u64).sum::<u64>() + payload.bytes.len() as u64;
    let mut header = [0; RECORD_HEADER];
    header[..4].copy_from_slice(&RECORD_MAGIC);
    header[8..16].copy_from_slice(&sequence.to_le_bytes());
    header[16..24].copy_from_slice(&body.to_le_bytes());
    let mut check = crc32fast::Hasher::new();
    check.update(&header[8..]);
    parts.iter().for_each(|part| check.update(part));
    match payload.check {
        Some(known) => {
            check.combine(&crc32fast::Hasher::new_with_initial_len(known, payload.bytes.len() as u64));
        }
        None => check.update(payload.bytes),
    }
    header[4..8].copy_from_slice(&check.finalize().to_le_bytes());
    (header, body)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
