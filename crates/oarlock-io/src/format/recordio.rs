//! RecordIO: a file of records in chunks, as releases of Fluid before 1.6 wrote it. Knows bytes; a record that holds tensors
//! is made by [`encode_sample`] and read by [`decode_sample`].
//!
//! A chunk is `magic, records, crc32, compressor, size` (u32 each, little-endian) and `size` bytes, over which the checksum
//! goes. Uncompressed, these are the records, each `length (u32), bytes`.

use std::io::{self, Read, Write};

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::Tensor;

use crate::format::cursor::ByteCursor;
use crate::format::tensor_stream::{decode_tensor, encode_tensor};

const MAGIC: u32 = 0x0102_0304;
const HEADER: usize = 20;

/// How the chunks of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all.
    None,
    /// Snappy, in its stream format.
    Snappy,
}

impl Compressor {
    fn number(self) -> u32 {
        match self {
            Compressor::None => 0,
            Compressor::Snappy => 1,
        }
    }
}

/// Writes records, a chunk at a time. What is not flushed by [`RecordWriter::finish`] is lost.
pub struct RecordWriter<W> {
    out: W,
    compressor: Compressor,
    /// Records per chunk, at most.
    most: u32,
    records: u32,
    payload: Vec<u8>,
}

impl<W: Write> RecordWriter<W> {
    /// Chunks of at most `records_per_chunk` records; Fluid's default is 1000.
    pub fn new(out: W, compressor: Compressor, records_per_chunk: u32) -> RecordWriter<W> {
        RecordWriter { out, compressor, most: records_per_chunk.max(1), records: 0, payload: Vec::new() }
    }

    /// Appends a record.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let Ok(len) = u32::try_from(record.len()) else {
            let what = format!("a record of {} bytes is longer than the format can hold", record.len());
            return Err(Error::new(Kind::Range, what).help("make several records of it"));
        };
        // The size of a chunk has 32 bits, too. Compression can only add a little, so keep some distance.
        if self.payload.len() + record.len() > 1 << 31 {
            self.end_chunk()?;
        }
        self.payload.extend(len.to_le_bytes());
        self.payload.extend_from_slice(record);
        self.records += 1;
        if self.records == self.most { self.end_chunk() } else { Ok(()) }
    }

    /// Writes what is left and gives the file back.
    pub fn finish(mut self) -> Result<W> {
        self.end_chunk()?;
        self.out.flush().map_err(cannot_write)?;
        Ok(self.out)
    }

    fn end_chunk(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let stored = match self.compressor {
            Compressor::None => std::mem::take(&mut self.payload),
            Compressor::Snappy => {
                let mut encoder = snap::write::FrameEncoder::new(Vec::new());
                encoder.write_all(&self.payload).map_err(cannot_write)?;
                encoder.into_inner().map_err(|e| cannot_write(e.into_error()))?
            }
        };
        let Ok(size) = u32::try_from(stored.len()) else {
            return Err(Error::new(Kind::Range, format!("a chunk of {} bytes is too long", stored.len())));
        };
        let header = [MAGIC, self.records, crc32fast::hash(&stored), self.compressor.number(), size];
        let header: Vec<u8> = header.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.out.write_all(&header).and_then(|()| self.out.write_all(&stored)).map_err(cannot_write)?;
        self.records = 0;
        self.payload.clear();
        Ok(())
    }
}

fn cannot_write(e: io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot write records: {e}"))
}

/// Reads records, a chunk at a time.
pub struct RecordReader<R> {
    input: R,
    origin: String,
    /// Bytes of the file that were read.
    at: u64,
    payload: Vec<u8>,
    /// The rest of the payload, not yet read.
    next: usize,
    left: u32,
}

impl<R: Read> RecordReader<R> {
    /// Reads `input`, which messages call `origin`.
    pub fn new(input: R, origin: impl Into<String>) -> RecordReader<R> {
        RecordReader { input, origin: origin.into(), at: 0, payload: Vec::new(), next: 0, left: 0 }
    }

    /// The next record; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        while self.left == 0 {
            if self.next != self.payload.len() {
                return Err(self.damaged("a chunk holds more than its records"));
            }
            if !self.next_chunk()? {
                return Ok(None);
            }
        }
        self.left -= 1;
        let rest = &self.payload[self.next..];
        let record =
            rest.split_first_chunk::<4>().and_then(|(len, rest)| rest.get(..u32::from_le_bytes(*len) as usize));
        let Some(len) = record.map(<[u8]>::len) else { return Err(self.damaged("a record is longer than its chunk")) };
        self.next += 4 + len;
        Ok(Some(&self.payload[self.next - len..self.next]))
    }

    fn next_chunk(&mut self) -> Result<bool> {
        let header = self.take(HEADER as u64)?;
        if header.is_empty() {
            return Ok(false);
        }
        let mut fields = ByteCursor::new(&header, &self.origin);
        let mut field = |what| fields.u32(what);
        let (magic, records) = (field("a chunk's mark")?, field("the number of records")?);
        let (crc, compressor, size) = (field("the checksum")?, field("the compressor")?, field("the size")?);
        if magic != MAGIC {
            return Err(self.damaged("no chunk begins where one should"));
        }
        let stored = self.take(size.into())?;
        if stored.len() != size as usize {
            return Err(self.damaged("the last chunk is truncated"));
        }
        if crc32fast::hash(&stored) != crc {
            return Err(self.damaged("the checksum of a chunk is wrong"));
        }
        self.payload = match compressor {
            0 => stored,
            1 => {
                let mut out = Vec::new();
                let done = snap::read::FrameDecoder::new(&stored[..]).read_to_end(&mut out);
                done.map_err(|e| self.damaged(&format!("a chunk cannot be decompressed ({e})")))?;
                out
            }
            other => {
                let what =
                    format!("{}: compressor {other} is not supported; only none (0) and snappy (1) are", self.origin);
                return Err(Error::new(Kind::Unsupported, what));
            }
        };
        (self.left, self.next) = (records, 0);
        Ok(true)
    }

    /// The next `n` bytes, fewer only at the end of the file. What the file claims to hold is not allocated before it is read.
    fn take(&mut self, n: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(n).read_to_end(&mut bytes);
        self.at += read.map_err(|e| Error::new(Kind::Io, format!("cannot read {}: {e}", self.origin)))? as u64;
        Ok(bytes)
    }

    fn damaged(&self, what: &str) -> Error {
        Error::new(Kind::Format, format!("{}: {what} (before byte {})", self.origin, self.at))
            .help("the file is damaged, truncated, or not a RecordIO file; restore it from a good copy")
    }
}

/// A sample of several tensors as one record.
pub fn encode_sample(tensors: &[Tensor]) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend((tensors.len() as u32).to_le_bytes());
    tensors.iter().for_each(|t| encode_tensor(t, &mut record));
    record
}

/// The tensors of a record.
pub fn decode_sample(record: &[u8], origin: &str) -> Result<Vec<Tensor>> {
    let mut reader = ByteCursor::new(record, origin);
    let count = reader.u32("the number of tensors")?;
    let mut tensors = Vec::new();
    for _ in 0..count {
        let (tensor, used) = decode_tensor(&record[reader.at()..], origin)?;
        reader.take(used, "a tensor")?;
        tensors.push(tensor);
    }
    match reader.left() {
        0 => Ok(tensors),
        n => Err(reader.error(format_args!("{n} bytes are left over after the tensors"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(compressor: Compressor, records: &[&[u8]]) -> Vec<u8> {
        let mut writer = RecordWriter::new(Vec::new(), compressor, 2);
        records.iter().for_each(|r| writer.write(r).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut reader = RecordReader::new(bytes, "f");
        let mut all = Vec::new();
        while let Some(record) = reader.next_record()? {
            all.push(record.to_vec());
        }
        Ok(all)
    }

    #[test]
    fn records_come_back() {
        let long = vec![7u8; 100_000];
        let records: [&[u8]; 5] = [b"one", b"", &long, b"four", b"five"];
        for compressor in [Compressor::None, Compressor::Snappy] {
            assert_eq!(read(&write(compressor, &records)).unwrap(), records, "{compressor:?}");
            assert_eq!(write(compressor, &[]), b"");
        }
        assert_eq!(read(b"").unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn the_layout_is_that_of_fluid() {
        let payload = b"\x03\0\0\0abc";
        let header = [MAGIC, 1, crc32fast::hash(payload), 0, 7].map(u32::to_le_bytes).concat();
        assert_eq!(write(Compressor::None, &[b"abc"]), [&header[..], payload].concat());
        let snappy = write(Compressor::Snappy, &[b"abc"]);
        assert_eq!(snappy[20..30], *b"\xff\x06\0\0sNaPpY", "the stream format begins with its name");
    }

    #[test]
    fn every_truncation_and_bit_flip_is_an_error_or_a_shorter_file() {
        let whole = write(Compressor::Snappy, &[b"one", b"two", b"three"]);
        for n in 1..whole.len() {
            let records = read(&whole[..n]);
            assert!(records.as_ref().map_or(true, |r| r.len() == 2), "truncated at {n}: {records:?}");
            let mut flipped = whole.clone();
            flipped[n] ^= 1;
            drop(read(&flipped));
        }
        let mut flipped = whole.clone();
        flipped[25] ^= 1;
        assert_eq!(
            read(&flipped).unwrap_err().to_string(),
            "error[format]: f: the checksum of a chunk is wrong (before byte 52)\n  help: the file is damaged, truncated, \
             or not a RecordIO file; restore it from a good copy"
        );
    }

    #[test]
    fn samples_are_tensors() {
        let sample = [Tensor::from_slice([2], &[1f32, 2.]).unwrap(), Tensor::from_slice([1, 1], &[5i64]).unwrap()];
        let record = encode_sample(&sample);
        assert_eq!(decode_sample(&record, "f").unwrap(), sample);
        assert!(
            decode_sample(&[&record[..], b"x"].concat(), "f")
                .unwrap_err()
                .to_string()
                .contains("1 bytes are left over")
        );
        assert!(decode_sample(&record[..record.len() - 1], "f").is_err());
    }
}
