//! The small numbers and texts of a frame's `meta`, written and read in order.
//!
//! Little-endian; texts, bytes and lists carry their length in front, as a `u32`. The reader trusts nothing: it checks each length
//! against what is there before it takes memory.

use std::str;

use oarlock_ir::{Error, Kind, Result};

/// Writes a `meta`.
#[derive(Debug, Default, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// An empty one.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// The bytes written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Forgets what was written and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends a number.
    pub fn u8(&mut self, value: u8) -> &mut Writer {
        self.put(&[value])
    }

    /// Appends a number.
    pub fn u16(&mut self, value: u16) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends a number.
    pub fn u32(&mut self, value: u32) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends a number.
    pub fn u64(&mut self, value: u64) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends a number.
    pub fn i64(&mut self, value: i64) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends a number, bit for bit.
    pub fn f32(&mut self, value: f32) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends a number, bit for bit.
    pub fn f64(&mut self, value: f64) -> &mut Writer {
        self.put(&value.to_le_bytes())
    }

    /// Appends yes or no.
    pub fn bool(&mut self, value: bool) -> &mut Writer {
        self.u8(value.into())
    }

    /// Appends a text.
    pub fn str(&mut self, text: &str) -> &mut Writer {
        self.bytes(text.as_bytes())
    }

    /// Appends bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.count(bytes.len()).put(bytes)
    }

    /// Appends a list: how many, then each by `item`.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) -> &mut Writer {
        self.count(items.len());
        for it in items {
            item(self, it);
        }
        self
    }

    /// A length. A `meta` of 4 GiB cannot be sent anyway: frames have a limit, and the reader would notice the wrong length.
    fn count(&mut self, n: usize) -> &mut Writer {
        self.u32(u32::try_from(n).unwrap_or(u32::MAX))
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Writer {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// Reads a `meta`.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads these bytes; `what` they are is said in errors.
    pub fn new(bytes: &'a [u8], what: &'a str) -> Reader<'a> {
        Reader { bytes, at: 0, what }
    }

    /// Bytes not yet read.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next number.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// The next number.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// The next number.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next number.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The next number.
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// The next number, bit for bit.
    pub fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    /// The next number, bit for bit.
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// The next yes or no.
    pub fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(format_args!("byte {} should be 0 or 1 and is {other}", self.at - 1))),
        }
    }

    /// The next text.
    pub fn str(&mut self) -> Result<&'a str> {
        let start = self.at;
        let bytes = self.bytes()?;
        str::from_utf8(bytes).map_err(|_| self.wrong(format_args!("the text at byte {start} is not UTF-8")))
    }

    /// The next bytes, which were written with their length.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.u32()?;
        self.take(n as usize)
    }

    /// The next list, each item by `item`.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Reader<'a>) -> Result<T>) -> Result<Vec<T>> {
        let n = self.u32()? as usize;
        // No item is shorter than a byte: a count above that is refused before anything is read.
        if n > self.left() {
            return Err(self.short(n));
        }
        // Items may be larger in memory than in the frame, so room is made for what could be there, not for what is announced.
        let mut items = Vec::with_capacity(n.min(self.left() / size_of::<T>().max(1)));
        for _ in 0..n {
            let before = self.at;
            items.push(item(self)?);
            if self.at == before {
                return Err(Error::internal(format!("an item of a list in {} takes no bytes", self.what)));
            }
        }
        Ok(items)
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.wrong(format_args!("{left} bytes are left behind byte {}", self.at))),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.left() {
            return Err(self.short(n));
        }
        let bytes = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(bytes)
    }

    fn short(&self, n: usize) -> Error {
        self.wrong(format_args!("byte {} should be followed by {n} more, there are {}", self.at, self.left()))
    }

    fn wrong(&self, what: std::fmt::Arguments<'_>) -> Error {
        Error::new(Kind::Format, format!("{} is not what it should be: {what}", self.what))
            .help("install the same Oarlock on every machine of the job")
    }
}

/// A message that cannot be what its sender meant.
#[cold]
pub fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Format, format!("a message is damaged: {what}"))
        .help("trainers and servers must be of one release of Oarlock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut w = Writer::new();
        w.u8(7).u16(700).u32(70_000).u64(u64::MAX).i64(-5).f32(1.5).f64(f64::NAN).bool(true).str("añ").bytes(&[1, 2]);
        w.list(&[3_i64, 4], |w, v| {
            w.i64(*v);
        });
        let mut r = Reader::new(w.as_bytes(), "the meta");
        assert_eq!((r.u8().unwrap(), r.u16().unwrap(), r.u32().unwrap()), (7, 700, 70_000));
        assert_eq!((r.u64().unwrap(), r.i64().unwrap(), r.f32().unwrap()), (u64::MAX, -5, 1.5));
        assert_eq!(r.f64().unwrap().to_bits(), f64::NAN.to_bits());
        assert_eq!((r.bool().unwrap(), r.str().unwrap(), r.bytes().unwrap()), (true, "añ", &[1_u8, 2][..]));
        assert!(r.finish().is_err());
        assert_eq!(r.list(Reader::i64).unwrap(), [3, 4]);
        r.finish().unwrap();
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let lie = [0xff_u8; 12];
        let e = Reader::new(&lie, "the meta of `PullRows`").list(Reader::u64).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[format]: the meta of `PullRows` is not what it should be: byte 4 should be followed by 4294967295 more, \
             there are 8\n  help: install the same Oarlock on every machine of the job"
        );
        assert!(Reader::new(&lie, "x").bytes().is_err());
        assert!(Reader::new(&lie, "x").str().is_err());
        assert!(Reader::new(&lie, "x").bool().is_err());
        assert!(Reader::new(&[1, 0, 0, 0, 0xff], "x").str().is_err());
        assert!(Reader::new(&[2, 0, 0, 0, 1, 2], "x").list(|_| Ok(())).is_err());
    }
}
