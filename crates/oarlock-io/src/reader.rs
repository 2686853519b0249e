//! Reading little-endian bytes, with errors that say where.

use oarlock_ir::{Error, Kind, Result};

/// Bytes and a position in them.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// What is read: a file's name, as messages show it.
    origin: &'a str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], origin: &'a str) -> Reader<'a> {
        Reader { bytes, at: 0, origin }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error at the present position.
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(Kind::Format, format!("{}: {what} (at byte {})", self.origin, self.at))
            .help("the file is damaged, cut short, or not what it should be; restore it from a good copy")
    }

    /// The next `n` bytes.
    pub(crate) fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        if n > self.left() {
            return Err(self.error(format_args!("{what} needs {n} bytes, but only {} are left", self.left())));
        }
        let part = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(part)
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self, what: &str) -> Result<i64> {
        self.array(what).map(i64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    /// A number of things of `size` bytes each, which must still fit into what is left: no file makes us allocate more than it holds.
    pub(crate) fn count(&mut self, size: usize, what: &str) -> Result<usize> {
        let n = self.u64(what)?;
        match usize::try_from(n).ok().filter(|n| n.checked_mul(size).is_some_and(|b| b <= self.left())) {
            Some(n) => Ok(n),
            None => Err(self.error(format_args!("{what} says {n}, more than the file holds"))),
        }
    }
}
