//! A file that is being read, and checked on the way.

use std::io::{self, Read};

use oarlock_ir::{Error, Kind, Result};

use super::manifest::{MANIFEST, Seal};
use crate::format::cursor::ByteCursor;

/// A file of a store, open for reading. If its checksum was noted when it was saved, nothing decoded from it counts
/// before all of it was read and the checksum found right.
pub struct StoredFile {
    origin: String,
    len: u64,
    seal: Option<Seal>,
    from: Counted,
}

/// Bytes, and the checksum of those that went by.
pub(crate) struct Counted {
    from: Box<dyn Read + Send>,
    crc: crc32fast::Hasher,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(out)?;
        self.crc.update(&out[..n]);
        self.read += n as u64;
        Ok(n)
    }
}

impl StoredFile {
    /// A file of `len` bytes; `origin` names it in messages, `seal` is what was noted about it.
    pub fn new(origin: String, len: u64, seal: Option<Seal>, from: Box<dyn Read + Send>) -> StoredFile {
        StoredFile { origin, len, seal, from: Counted { from, crc: crc32fast::Hasher::new(), read: 0 } }
    }

    /// How messages name it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// No bytes at all?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entry of the manifest, written when it was saved.
    pub fn seal(&self) -> Option<&Seal> {
        self.seal.as_ref()
    }

    /// The bytes as they come, unchecked: for data, which is read in pieces and notices itself when it is damaged.
    pub(crate) fn into_reader(self) -> Box<dyn Read + Send> {
        self.from.from
    }

    /// All bytes.
    pub fn bytes(self) -> Result<Vec<u8>> {
        self.decode(|r| r.take(r.left(), "the file"))
    }

    /// Reads everything and checks it.
    pub fn verify(self) -> Result<()> {
        self.decode(|_| Ok(()))
    }

    /// Decodes the file, then checks it. Where both fail, the damage is the reason and what the decoder stumbled over a note.
    pub(crate) fn decode<T>(
        mut self,
        decode: impl FnOnce(&mut ByteCursor<'_, &mut Counted>) -> Result<T>,
    ) -> Result<T> {
        let len = usize::try_from(self.len).map_err(|_| {
            Error::new(Kind::Unsupported, format!("{}: {} bytes are too many for this machine", self.origin, self.len))
        })?;
        self.check_size()?;
        let decoded = decode(&mut ByteCursor::of_file(&mut self.from, len, &self.origin));
        match self.check_sum() {
            Ok(()) => decoded,
            Err(damage) => Err(match decoded {
                Err(e) if e.kind() != Kind::Io => damage.note(e.report().what.clone()),
                _ => damage,
            }),
        }
    }

    fn check_size(&self) -> Result<()> {
        match &self.seal {
            Some(seal) if seal.size != self.len => {
                Err(self.damage(format_args!("it has {} bytes, but {} were saved", self.len, seal.size)))
            }
            _ => Ok(()),
        }
    }

    /// Reads the rest and compares the checksum.
    fn check_sum(&mut self) -> Result<()> {
        let Some(expected) = self.seal.as_ref().map(|s| s.crc32) else { return Ok(()) };
        io::copy(&mut self.from, &mut io::sink()).map_err(|e| super::io_error("read", &self.origin, &e))?;
        let found = self.from.crc.clone().finalize();
        if found == expected && self.from.read == self.len {
            return Ok(());
        }
        Err(self.damage(format_args!("its checksum is {found:08x}, but {expected:08x} was saved")))
    }

    fn damage(&self, what: impl std::fmt::Display) -> Error {
        Error::new(Kind::Format, format!("{} is not what was saved: {what}", self.origin))
            .help(format!("restore it from a good copy; if it was replaced on purpose, delete {MANIFEST} beside it"))
    }
}
