//! A write-ahead log: records that a process appends before it acknowledges what they say, and reads again when it is restarted.
//!
//! A log is a folder of segments, `segment-00000001.log` and so on. Numbers are little-endian.
//!
//! ```text
//! segment   0  8  "OARLKWAL"
//!           8  4  version of this format
//!          12  4  CRC-32 of bytes 16 to 63
//!          16 32  lineage: the name of the history that the segment belongs to
//!          48  8  number of the segment, from 1
//!          56  8  sequence number of the record before its first one
//! record    0  4  "WREC"
//!           4  4  CRC-32 of all that follows
//!           8  8  sequence number; records are numbered from 1 without gaps, through all segments
//!          16  8  bytes of the body
//!          24     body
//! ```
//! [`Wal::append`] writes a record with one system call. It is in the page cache then: it survives the end of the process by any signal,
//! and by the system when memory runs out. [`Wal::commit`] makes it survive a loss of power, too; threads that commit at the same time
//! share one `fdatasync`.
//!
//! [`Wal::rotate`] begins a segment; what came before can be removed ([`Wal::remove_before`]) when a snapshot has it. [`Wal::open`]
//! reads all records from a segment on. A process that is killed while it writes leaves a part of a record at the end: this tail is cut
//! off, nothing in it was acknowledged. A damaged record with good ones behind it, a missing segment or a segment of another history is
//! an error that names file and offset; the files stay as they are.

mod format;
mod recover;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;

use crate::store::io_error;
use format::{RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, record_header, segment_name, segments};
pub use recover::{Recovered, TakeRecord};

/// How much an acknowledged record survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, by any signal.
    #[default]
    Process,
    /// A loss of power as well.
    Power,
}

impl Durability {
    /// The level of this name.
    pub fn parse(name: &str) -> Option<Durability> {
        match name {
            "process" => Some(Durability::Process),
            "power" => Some(Durability::Power),
            _ => None,
        }
    }
}

/// A log that is being written.
pub struct Wal {
    dir: PathBuf,
    lineage: String,
    durability: Durability,
    tail: Mutex<Tail>,
    /// The last record that survives a loss of power. Locked during a sync, so that those who wait share the next one.
    synced: Mutex<u64>,
    /// Bytes of all segments that are kept.
    bytes: AtomicU64,
}

/// The segment that records are appended to.
struct Tail {
    file: Arc<File>,
    number: u64,
    len: u64,
    /// The last record.
    sequence: u64,
    /// A record was written in part: the file must be cut back to `len` first.
    partial: bool,
}

/// The last part of a record's body, whose checksum may be known already.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payload<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Their CRC-32.
    pub check: Option<u32>,
}

impl Wal {
    /// Begins a log in a folder, which must have no records. A first segment without any is replaced: its process ended before it
    /// wrote one.
    pub fn create(dir: &Path, lineage: &str, durability: Durability) -> Result<Wal> {
        fs::create_dir_all(dir).map_err(|e| not_writable(dir, &e))?;
        for (number, path) in segments(dir)? {
            let len = fs::metadata(&path).map_err(|e| io_error("read", path.display(), &e))?.len();
            if number > 1 || len > SEGMENT_HEADER as u64 {
                let what = format!("{} is in the way of a new log: it has records", path.display());
                return Err(Error::new(Kind::Io, what)
                    .help("restore the snapshot that belongs to it, move it away, or give the job another name"));
            }
        }
        Wal::begin(dir, lineage, durability, 1, 0)
    }

    /// Begins segment `number`, after record `sequence`.
    fn begin(dir: &Path, lineage: &str, durability: Durability, number: u64, sequence: u64) -> Result<Wal> {
        let file = new_segment(dir, lineage, durability, number, sequence).map_err(|e| not_writable(dir, &e))?;
        let tail = Tail { file: Arc::new(file), number, len: SEGMENT_HEADER as u64, sequence, partial: false };
        let bytes = AtomicU64::new(kept_bytes(dir)?);
        let (dir, lineage) = (dir.to_path_buf(), lineage.to_string());
        Ok(Wal { dir, lineage, durability, tail: Mutex::new(tail), synced: Mutex::new(sequence), bytes })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Bytes of all segments that are kept.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of records so far, those of earlier processes and removed segments included.
    pub fn records(&self) -> u64 {
        self.tail.lock().sequence
    }

    /// Appends a record, whose body is the parts and then the payload; returns its sequence number. After an error nothing of it is in
    /// the log, and it can be appended again.
    pub fn append(&self, parts: &[&[u8]], payload: Payload<'_>) -> io::Result<u64> {
        let mut tail = self.tail.lock();
        if tail.partial {
            tail.file.set_len(tail.len)?;
            tail.partial = false;
        }
        let sequence = tail.sequence + 1;
        let (header, body) = record_header(sequence, parts, payload);
        let mut slices = Vec::with_capacity(parts.len() + 2);
        slices.push(IoSlice::new(&header));
        slices.extend(parts.iter().map(|part| IoSlice::new(part)));
        slices.push(IoSlice::new(payload.bytes));
        if let Err(e) = write_all(&tail.file, &mut slices) {
            // A file that cannot be cut back now is cut back before the next record.
            tail.partial = tail.file.set_len(tail.len).is_err();
            return Err(e);
        }
        let len = RECORD_HEADER as u64 + body;
        tail.len += len;
        tail.sequence = sequence;
        self.bytes.fetch_add(len, Ordering::Relaxed);
        Ok(sequence)
    }

    /// Returns when a record survives what the durability of the log promises.
    pub fn commit(&self, sequence: u64) -> io::Result<()> {
        if self.durability == Durability::Process {
            return Ok(());
        }
        let mut synced = self.synced.lock();
        if *synced >= sequence {
            return Ok(());
        }
        let (file, last) = {
            let tail = self.tail.lock();
            (tail.file.clone(), tail.sequence)
        };
        file.sync_data()?;
        *synced = last;
        Ok(())
    }

    /// Begins the next segment; returns its number. All records so far are in earlier ones.
    pub fn rotate(&self) -> io::Result<u64> {
        let mut tail = self.tail.lock();
        if tail.partial {
            tail.file.set_len(tail.len)?;
            tail.partial = false;
        }
        if self.durability == Durability::Power {
            // A commit that waits finds the records of this segment synced with those of the next.
            tail.file.sync_data()?;
        }
        let number = tail.number + 1;
        let file = new_segment(&self.dir, &self.lineage, self.durability, number, tail.sequence)?;
        let (sequence, len) = (tail.sequence, SEGMENT_HEADER as u64);
        *tail = Tail { file: Arc::new(file), number, len, sequence, partial: false };
        self.bytes.fetch_add(len, Ordering::Relaxed);
        Ok(number)
    }

    /// Removes the segments before this one: a snapshot has their records.
    pub fn remove_before(&self, number: u64) -> Result<()> {
        for (_, path) in segments(&self.dir)?.into_iter().filter(|(of, _)| *of < number) {
            fs::remove_file(&path).map_err(|e| io_error("remove", path.display(), &e))?;
        }
        self.bytes.store(kept_bytes(&self.dir)?, Ordering::Relaxed);
        Ok(())
    }
}

/// Makes a segment. One whose header was not complete when its process ended is replaced.
fn new_segment(dir: &Path, lineage: &str, durability: Durability, number: u64, before: u64) -> io::Result<File> {
    let path = dir.join(segment_name(number));
    let mut file = File::create(&path)?;
    file.write_all(&SegmentHeader { lineage: lineage.to_string(), number, before }.encode())?;
    if durability == Durability::Power {
        file.sync_all()?;
        File::open(dir)?.sync_all()?;
    }
    // Records go to the end, wherever a failed one left off.
    File::options().append(true).open(&path)
}

/// Writes all slices, with one system call unless the system takes less.
fn write_all(mut file: &File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::WriteZero, "nothing more could be written")),
            Ok(n) => IoSlice::advance_slices(&mut slices, n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn kept_bytes(dir: &Path) -> Result<u64> {
    let size = |path: &Path| fs::metadata(path).map(|m| m.len()).map_err(|e| io_error("read", path.display(), &e));
    segments(dir)?.iter().map(|(_, path)| size(path)).sum()
}

fn not_writable(dir: &Path, e: &io::Error) -> Error {
    let error = Error::new(Kind::Io, format!("{} cannot hold a log: {e}", dir.display()));
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error.help("free some space there"),
        _ => error.help("name a directory that this process may write"),
    }
}
