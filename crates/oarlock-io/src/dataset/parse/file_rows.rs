//! A file, line by line or row by row, into columns: joins bytes, parser and the rule for bad lines.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;

use super::csv::{CsvRows, Row};
use super::multislot::{BadLines, Fault, Format, line, line_end};
#[cfg(feature = "parquet")]
use super::parquet::ParquetRows;
use super::records::{Csv, Records, TableColumns};
use crate::dataset::column::Columns;
use crate::dataset::input::pipe::Cancel;
use crate::dataset::input::source::{Input, Source};

/// How much is read at once, and how long a line can be before the buffer grows.
const BLOCK: usize = 1 << 20;

/// No line is longer: a file without newlines must not take all memory.
const LONGEST_LINE: usize = 1 << 28;

/// The progress of reading, counted over all threads.
#[derive(Debug, Default)]
pub struct Progress {
    samples: AtomicU64,
    skipped: AtomicU64,
    first_skipped: Mutex<Option<Error>>,
    /// Bytes of the files that were read, and bytes of all of them, as they are on disk.
    bytes: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Samples parsed.
    pub fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    /// Bad lines left out.
    pub fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// The error of the first of them.
    pub fn first_skipped(&self) -> Option<Error> {
        self.first_skipped.lock().clone()
    }

    /// How much of the files was read, from 0 to 1; `None` if their size is not known.
    pub fn fraction(&self) -> Option<f64> {
        let total = self.total.load(Ordering::Relaxed);
        (total > 0).then(|| (self.bytes.load(Ordering::Relaxed) as f64 / total as f64).min(1.0))
    }

    /// These files are going to be read. What cannot be looked at is an error when it is opened, not here.
    pub(crate) fn expect(&self, files: &[String]) {
        let total = files.iter().filter_map(|name| std::fs::metadata(name).ok()).map(|m| m.len()).sum();
        self.total.store(total, Ordering::Relaxed);
    }

    fn skip(&self, error: impl FnOnce() -> Error) {
        if self.skipped.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.first_skipped.lock() = Some(error());
        }
    }
}

/// The state that all threads that read one data set share.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) format: Format,
    pub(crate) progress: Arc<Progress>,
    /// Set from outside to end the run soon.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Job {
    pub(crate) fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Interrupted, "reading the dataset was interrupted"));
        }
        Ok(())
    }
}

/// Bytes of a file of which only the whole lines are looked at. Kept from file to file for its memory.
#[derive(Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// The bytes not yet parsed: `start..lines` are whole lines, `lines..filled` the beginning of the next one.
    start: usize,
    lines: usize,
    filled: usize,
    /// The file has no more.
    ended: bool,
}

impl Block {
    fn lines(&self) -> &[u8] {
        &self.bytes[self.start..self.lines]
    }

    /// Replaces the parsed lines by the next ones; false at the end of `input`.
    fn fill(&mut self, input: &mut impl Read) -> std::io::Result<bool> {
        self.bytes.copy_within(self.lines..self.filled, 0);
        (self.filled, self.start, self.lines) = (self.filled - self.lines, 0, 0);
        loop {
            self.make_room()?;
            let new = self.filled;
            match input.read(&mut self.bytes[new..]) {
                Ok(0) => {
                    // The last line needs no newline.
                    self.lines = self.filled;
                    self.ended = true;
                    return Ok(self.lines > 0);
                }
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            if let Some(at) = memchr::memrchr(b'\n', &self.bytes[new..self.filled]) {
                self.lines = new + at + 1;
                return Ok(true);
            }
        }
    }

    fn make_room(&mut self) -> std::io::Result<()> {
        if self.filled < self.bytes.len() {
            return Ok(());
        }
        if self.filled >= LONGEST_LINE {
            return Err(std::io::Error::other(format!("a line is longer than {LONGEST_LINE} bytes")));
        }
        self.bytes.resize((self.bytes.len() * 2).max(BLOCK), 0);
        Ok(())
    }

    fn clear(&mut self) {
        (self.start, self.lines, self.filled, self.ended) = (0, 0, 0, false);
    }

    /// Keeps what is not yet parsed for the time when more of it is there.
    fn put_back(&mut self) {
        self.bytes.copy_within(self.start..self.filled, 0);
        (self.filled, self.start, self.lines) = (self.filled - self.start, 0, 0);
    }
}

/// Calls `visit` with the number and the text of every line of a file, until it says that it has seen enough.
pub(crate) fn each_line(
    source: &Source,
    name: &str,
    mut visit: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut input = source.open(name, &Arc::default())?;
    let mut block = Block::default();
    let mut number = 0;
    while block.fill(&mut input).map_err(|e| cannot_read(name, &e))? {
        for text in block.lines().split_inclusive(|&b| b == b'\n') {
            number += 1;
            if visit(number, text.strip_suffix(b"\n").unwrap_or(text))?.is_break() {
                return Ok(());
            }
        }
        block.start = block.lines;
    }
    input.finish()
}

fn cannot_read(name: &str, e: &std::io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot read {name}: {e}"))
}

/// A file whose lines or rows become samples.
pub(crate) struct FileRows<'a> {
    job: &'a Job,
    name: &'a str,
    from: From<'a>,
    /// Bytes of the file that the progress knows of.
    counted: u64,
}

/// The contents being read.
enum From<'a> {
    Text(Text<'a>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetRows>, &'a TableColumns),
}

/// Lines of text.
struct Text<'a> {
    input: Input,
    block: &'a mut Block,
    /// Lines parsed.
    line: u64,
    csv: Option<(&'a Csv, CsvRows)>,
}

impl<'a> FileRows<'a> {
    pub(crate) fn open(
        job: &'a Job,
        name: &'a str,
        block: &'a mut Block,
        cancel: &Arc<Cancel>,
    ) -> Result<FileRows<'a>> {
        block.clear();
        let csv = match &job.format.records {
            Records::MultiSlot => None,
            Records::Csv(csv) => Some((csv, CsvRows::new(csv))),
            Records::Parquet(table) => {
                return Ok(FileRows { job, name, from: open_parquet(job, name, table, cancel)?, counted: 0 });
            }
        };
        let from = From::Text(Text { input: job.source.open(name, cancel)?, block, line: 0, csv });
        Ok(FileRows { job, name, from, counted: 0 })
    }

    /// Adds rows until there are `limit`; false if the file ended before.
    pub(crate) fn read(&mut self, columns: &mut Columns, limit: usize) -> Result<bool> {
        loop {
            let before = columns.rows();
            let parsed = self.parse(columns, limit);
            self.job.progress.samples.fetch_add((columns.rows() - before) as u64, Ordering::Relaxed);
            let ended = parsed?;
            if columns.rows() == limit {
                return Ok(true);
            }
            self.job.check_stop()?;
            if ended || !self.fill()? {
                self.count(true);
                return Ok(false);
            }
            self.count(false);
        }
    }

    /// Takes rows from what is at hand, until there are `limit`; true if the file has no more.
    fn parse(&mut self, columns: &mut Columns, limit: usize) -> Result<bool> {
        let (job, name) = (self.job, self.name);
        match &mut self.from {
            From::Text(text) => {
                while columns.rows() < limit && !text.block.lines().is_empty() {
                    text.parse_row(job, name, columns)?;
                }
                Ok(false)
            }
            #[cfg(feature = "parquet")]
            From::Parquet(rows, table) => {
                // Looks at the stop flag from time to time.
                let limit = limit.min(columns.rows() + GLIMPSE);
                while columns.rows() < limit {
                    match rows.read(name, table, &job.format.slots, columns)? {
                        None => return Ok(true),
                        Some(Ok(())) => {}
                        Some(Err(fault)) => {
                            job.bad_line(|| format!("{name}: row {}: {}", rows.row(), fault.what))?;
                        }
                    }
                }
                Ok(false)
            }
        }
    }

    /// Gets more to parse; false at the end.
    fn fill(&mut self) -> Result<bool> {
        match &mut self.from {
            From::Text(Text { input, block, .. }) => {
                let more = block.fill(input).map_err(|e| cannot_read(self.name, &e))?;
                if !more {
                    input.finish()?;
                }
                Ok(more)
            }
            #[cfg(feature = "parquet")]
            From::Parquet(..) => Ok(true),
        }
    }

    /// Tells the progress how far the file was read. Of what is decompressed or piped, only the end is known.
    fn count(&mut self, ended: bool) {
        let size = || std::fs::metadata(self.name).ok().map(|m| m.len());
        let at = match &mut self.from {
            _ if ended => size(),
            From::Text(text) => text.input.position(),
            #[cfg(feature = "parquet")]
            From::Parquet(rows, _) => size().map(|size| (size as f64 * rows.fraction()) as u64),
        };
        if let Some(new) = at.and_then(|at| at.checked_sub(self.counted)) {
            self.counted += new;
            self.job.progress.bytes.fetch_add(new, Ordering::Relaxed);
        }
    }
}

/// Rows of a Parquet file that are taken before the stop flag is looked at.
#[cfg(feature = "parquet")]
const GLIMPSE: usize = 4096;

#[cfg(feature = "parquet")]
fn open_parquet<'a>(job: &'a Job, name: &str, table: &'a TableColumns, cancel: &Arc<Cancel>) -> Result<From<'a>> {
    let rows = ParquetRows::open(job.source.open(name, cancel)?, name, table, &job.format)?;
    Ok(From::Parquet(Box::new(rows), table))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet<'a>(_: &Job, name: &str, _: &TableColumns, _: &Arc<Cancel>) -> Result<From<'a>> {
    Err(not_built(name))
}

#[cfg(any(test, not(feature = "parquet")))]
fn not_built(name: &str) -> Error {
    let what = format!("{name}: this build does not read Parquet files");
    Error::new(Kind::Unsupported, what).help("build with the cargo feature `parquet`, or write CSV files")
}

impl Text<'_> {
    /// Parses the next line, or the next row of a table.
    fn parse_row(&mut self, job: &Job, name: &str, columns: &mut Columns) -> Result<()> {
        let text = self.block.lines();
        let (line_number, mut found) = (self.line + 1, None);
        let used = match &mut self.csv {
            None => line(&job.format, text, columns).unwrap_or_else(|fault| {
                found = Some(fault);
                (line_end(text, 0) + 1).min(text.len())
            }),
            Some((csv, rows)) => match rows.read(csv, &job.format, text, self.block.ended, columns) {
                Ok(Row::Ends(used)) => used,
                Ok(Row::GoesOn) => {
                    self.block.put_back();
                    return Ok(());
                }
                Err((fault, used)) => {
                    if !rows.knows_columns() {
                        return Err(bad_line(&place(name, line_number, &fault)));
                    }
                    found = Some(fault);
                    used
                }
            },
        };
        self.line += match self.csv {
            None => 1,
            // A field in quotes can hold newlines.
            Some(_) => memchr::memchr_iter(b'\n', &text[..used]).count().max(1) as u64,
        };
        if let Some(fault) = found {
            job.bad_line(|| place(name, line_number, &fault))?;
        }
        self.block.start += used;
        Ok(())
    }
}

fn place(name: &str, line: u64, fault: &Fault) -> String {
    format!("{name}:{line}:{}: {}", fault.at + 1, fault.what)
}

fn bad_line(what: &str) -> Error {
    Error::new(Kind::Format, what).help(
        "correct the line, or what writes it; or skip and count bad lines: set_bad_lines(\"skip\"), --skip-bad-lines",
    )
}

impl Job {
    /// Ends the run, or counts a line that is left out.
    #[cold]
    fn bad_line(&self, what: impl FnOnce() -> String) -> Result<()> {
        match self.format.bad_lines {
            BadLines::Fail => Err(bad_line(&what())),
            BadLines::Skip => {
                self.progress.skip(|| bad_line(&what()));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    // Builds with Parquet say it, too: a run of all tests has one set of features.
    #[test]
    fn a_build_without_parquet_says_so() {
        let error = super::not_built("clicks.parquet");
        assert_eq!(error.report().what, "clicks.parquet: this build does not read Parquet files");
        assert!(error.to_string().contains("build with the cargo feature `parquet`, or write CSV files"), "{error}");
    }
}
