//! Reading little-endian bytes, with errors that say where.

use std::io::Read;

use oarlock_ir::{Error, Kind, Result};

/// Bytes in memory or in a file of known length, and a position in them.
pub(crate) struct ByteCursor<'a, R> {
    from: R,
    at: usize,
    len: usize,
    /// The name of the file, as messages show it.
    origin: &'a str,
}

impl<'a> ByteCursor<'a, &'a [u8]> {
    /// Reads bytes in memory.
    pub(crate) fn new(bytes: &'a [u8], origin: &'a str) -> ByteCursor<'a, &'a [u8]> {
        ByteCursor { from: bytes, at: 0, len: bytes.len(), origin }
    }

    /// All bytes that are left.
    pub(crate) fn peek(&self) -> &'a [u8] {
        self.from
    }

    /// The next `n` bytes, in place.
    pub(crate) fn slice(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        self.need(n, what)?;
        let (part, rest) = self.from.split_at(n);
        self.from = rest;
        self.at += n;
        Ok(part)
    }
}

impl<'a, R: Read> ByteCursor<'a, R> {
    /// Reads a file of `len` bytes.
    pub(crate) fn of_file(from: R, len: usize, origin: &'a str) -> ByteCursor<'a, R> {
        ByteCursor { from, at: 0, len, origin }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.len - self.at
    }

    pub(crate) fn origin(&self) -> &'a str {
        self.origin
    }

    /// An error at the present position.
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(Kind::Format, format!("{}: {what} (at byte {})", self.origin, self.at))
            .help("the file is damaged, truncated, or not what it should be; restore it from a good copy")
    }

    fn need(&self, n: usize, what: &str) -> Result<()> {
        if n <= self.left() {
            return Ok(());
        }
        Err(self.error(format_args!("{what} needs {n} bytes, but only {} are left", self.left())))
    }

    /// Fills `out` with the next bytes.
    pub(crate) fn fill(&mut self, out: &mut [u8], what: &str) -> Result<()> {
        self.need(out.len(), what)?;
        self.from.read_exact(out).map_err(|e| {
            Error::new(Kind::Io, format!("cannot read {what} from {} at byte {}: {e}", self.origin, self.at))
        })?;
        self.at += out.len();
        Ok(())
    }

    /// The next `n` bytes, copied.
    pub(crate) fn take(&mut self, n: usize, what: &str) -> Result<Vec<u8>> {
        // Checked before it is allocated: no file makes us allocate more than it holds.
        self.need(n, what)?;
        let mut out = vec![0; n];
        self.fill(&mut out, what)?;
        Ok(out)
    }

    /// Passes over the next `n` bytes.
    pub(crate) fn skip(&mut self, n: usize, what: &str) -> Result<()> {
        self.need(n, what)?;
        let mut left = n;
        let mut piece = [0; 8192];
        while left > 0 {
            let n = left.min(piece.len());
            self.fill(&mut piece[..n], what)?;
            left -= n;
        }
        Ok(())
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8> {
        self.array(what).map(u8::from_le_bytes)
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

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut out = [0; N];
        self.fill(&mut out, what)?;
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
