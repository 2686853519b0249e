//! Reading a log again.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use oarlock_ir::{Error, Kind, Result};

use super::format::{RECORD_HEADER, RECORD_MAGIC, SEGMENT_HEADER, SegmentHeader, segments, u32_at, u64_at};
use super::{Durability, Wal};
use crate::store::io_error;

/// What was found in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Records that were read.
    pub records: u64,
    /// Bytes of these records.
    pub bytes: u64,
    /// Bytes of a record that was not complete, which were cut off at the end.
    pub cut: u64,
}

/// Takes a record: its sequence number and its body.
pub type TakeRecord<'a> = dyn FnMut(u64, &[u8]) -> Result<()> + 'a;

impl Wal {
    /// Passes the records of a log from segment `from` on to `take`, and goes on with a new segment.
    pub fn open(
        dir: &Path,
        lineage: &str,
        durability: Durability,
        from: u64,
        take: &mut TakeRecord<'_>,
    ) -> Result<(Wal, Recovered)> {
        let found: Vec<(u64, PathBuf)> = segments(dir)?.into_iter().filter(|(number, _)| *number >= from).collect();
        let mut recovered = Recovered::default();
        let (mut next, mut sequence) = (from, None);
        for (at, (number, path)) in found.iter().enumerate() {
            if *number != next {
                return Err(missing_segment(dir, next, path));
            }
            let last = at + 1 == found.len();
            let Some(segment) = Segment::open(path, lineage, *number, last)? else {
                // Its process ended while it made the segment: there is no record in it.
                break;
            };
            if sequence.is_some_and(|sequence| sequence != segment.before) {
                let what = format!("{} does not follow the segment before it", path.display());
                return Err(Error::new(Kind::Format, what).help("restore the files of the log from a good copy"));
            }
            sequence = Some(segment.read(last, take, &mut recovered)?);
            next += 1;
        }
        let Some(sequence) = sequence else { return Err(missing_segment(dir, from, dir)) };
        Ok((Wal::begin(dir, lineage, durability, next, sequence)?, recovered))
    }
}

/// A segment that is being read.
struct Segment<'a> {
    path: &'a Path,
    file: BufReader<File>,
    len: u64,
    before: u64,
}

/// The next bytes of a segment.
enum Next {
    Record(u64),
    End,
    /// No good record starts here: why not.
    Bad(&'static str),
}

impl<'a> Segment<'a> {
    /// `None` for a last segment whose header is not complete.
    fn open(path: &'a Path, lineage: &str, number: u64, last: bool) -> Result<Option<Segment<'a>>> {
        let failed = |e: io::Error| io_error("read", path.display(), &e);
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len < SEGMENT_HEADER as u64 && last {
            return Ok(None);
        }
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut bytes = [0; SEGMENT_HEADER];
        file.read_exact(&mut bytes).map_err(failed)?;
        let header = SegmentHeader::decode(&bytes, path)?;
        if header.lineage != lineage || header.number != number {
            let what = format!(
                "{} belongs to another log: history {}, segment {}",
                path.display(),
                header.lineage,
                header.number
            );
            return Err(Error::new(Kind::Format, what)
                .note(format!("expected history {lineage}, segment {number}"))
                .help("move the file away, and restore the one that belongs here"));
        }
        Ok(Some(Segment { path, file, len, before: header.before }))
    }

    /// Passes all records on; returns the number of the last one.
    fn read(mut self, last: bool, take: &mut TakeRecord<'_>, recovered: &mut Recovered) -> Result<u64> {
        let (mut at, mut sequence, mut body) = (SEGMENT_HEADER as u64, self.before, Vec::new());
        loop {
            match self.next(at, sequence + 1, &mut body)? {
                Next::Record(len) => {
                    sequence += 1;
                    at += len;
                    recovered.records += 1;
                    recovered.bytes += len;
                    take(sequence, &body)
                        .map_err(|e| e.note(format!("record {sequence} of the log, in {}", self.path.display())))?;
                }
                Next::End => return Ok(sequence),
                Next::Bad(why) => {
                    if !last || self.has_record_after(at, sequence + 1)? {
                        return Err(self.damaged(at, sequence + 1, why));
                    }
                    recovered.cut = self.len - at;
                    self.cut(at)?;
                    return Ok(sequence);
                }
            }
        }
    }

    fn next(&mut self, at: u64, sequence: u64, body: &mut Vec<u8>) -> Result<Next> {
        let left = self.len - at;
        if left == 0 {
            return Ok(Next::End);
        }
        if left < RECORD_HEADER as u64 {
            return Ok(Next::Bad("it ends within the header of a record"));
        }
        let mut header = [0; RECORD_HEADER];
        self.fill(&mut header)?;
        let len = u64_at(&header, 16);
        if header[..4] != RECORD_MAGIC || u64_at(&header, 8) != sequence {
            return Ok(Next::Bad("no record begins there"));
        }
        let end = at.saturating_add(RECORD_HEADER as u64).saturating_add(len);
        if end > self.len {
            return Ok(Next::Bad("it ends within a record"));
        }
        // The length is within the file, so the memory is, too.
        body.resize(len as usize, 0);
        self.fill(body)?;
        let mut check = crc32fast::Hasher::new();
        check.update(&header[8..]);
        check.update(body);
        if check.finalize() != u32_at(&header, 4) {
            return Ok(Next::Bad("the checksum of the record is wrong"));
        }
        Ok(Next::Record(end - at))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|e| io_error("read", self.path.display(), &e))
    }

    /// Is there a good record with a later number behind a bad one? Then the bad one is no tail of a write that was broken off.
    fn has_record_after(&self, bad: u64, sequence: u64) -> Result<bool> {
        let failed = |e: io::Error| io_error("read", self.path.display(), &e);
        let mut rest = Vec::new();
        let mut file = File::open(self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(bad + 1)).map_err(failed)?;
        file.read_to_end(&mut rest).map_err(failed)?;
        let mut starts =
            (0..(rest.len() + 1).saturating_sub(RECORD_HEADER)).filter(|at| rest[*at..*at + 4] == RECORD_MAGIC);
        let good = |at: usize| {
            let len = usize::try_from(u64_at(&rest, at + 16)).unwrap_or(usize::MAX);
            let end = at.saturating_add(RECORD_HEADER).saturating_add(len);
            let later = (sequence..sequence.saturating_add(1 << 40)).contains(&u64_at(&rest, at + 8));
            later && end <= rest.len() && crc32fast::hash(&rest[at + 8..end]) == u32_at(&rest, at + 4)
        };
        Ok(starts.any(good))
    }

    /// Cuts off what follows the last complete record.
    fn cut(&self, at: u64) -> Result<()> {
        let cut = File::options().write(true).open(self.path).and_then(|file| file.set_len(at));
        cut.map_err(|e| io_error("cut off the end of", self.path.display(), &e))
    }

    fn damaged(&self, at: u64, sequence: u64, why: &str) -> Error {
        let what = format!("the log {} is damaged at byte {at}, record {sequence}: {why}", self.path.display());
        Error::new(Kind::Format, what)
            .note("records follow it, so it is not the end of a write that was broken off")
            .help(
                "restore the file from a good copy, or start the job again from its last checkpoint under another name",
            )
    }
}

fn missing_segment(dir: &Path, number: u64, found: &Path) -> Error {
    let what = format!("the log in {} lacks segment {number}", dir.display());
    Error::new(Kind::Missing, what)
        .note(format!("found {} instead", found.display()))
        .help("restore the file from a good copy, or start the job again from its last checkpoint under another name")
}
