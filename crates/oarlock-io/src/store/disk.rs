//! Operations on a disk, one step at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// One change to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DiskStep {
    CreateDir,
    CreateFile,
    Write,
    Sync,
    Rename,
    Remove,
}

/// Told before each step; its error is the step's.
pub(super) type Watch = Arc<dyn Fn(DiskStep) -> io::Result<()> + Send + Sync>;

/// The disk. Every change goes through here, so that tests can fail or stop at any of them.
#[derive(Clone, Default)]
pub(super) struct Disk {
    watch: Option<Watch>,
}

impl Disk {
    pub(super) fn watched(watch: Watch) -> Disk {
        Disk { watch: Some(watch) }
    }

    fn step(&self, step: DiskStep) -> io::Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch(step))
    }

    /// Makes a directory and those around it, as far as they are missing, and makes that last.
    pub(super) fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        let around = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.create_dir_all(around)?;
        match self.create_dir(path) {
            // Another process was faster, which is as good.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made.and_then(|()| self.sync_dir(around)),
        }
    }

    /// Makes a directory that must not exist.
    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step(DiskStep::CreateDir)?;
        fs::create_dir(path)
    }

    pub(super) fn create_file(&self, path: &Path) -> io::Result<OutFile> {
        self.step(DiskStep::CreateFile)?;
        Ok(OutFile { file: File::create(path)?, disk: self.clone(), crc: crc32fast::Hasher::new(), size: 0 })
    }

    /// Makes what was created, renamed or removed in a directory last.
    pub(super) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step(DiskStep::Sync)?;
        File::open(path)?.sync_all()
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(DiskStep::Rename)?;
        fs::rename(from, to)
    }

    pub(super) fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.step(DiskStep::Remove)?;
        fs::remove_dir_all(path)
    }
}

/// A file that is written, with the checksum of what went in.
pub(super) struct OutFile {
    file: File,
    disk: Disk,
    crc: crc32fast::Hasher,
    size: u64,
}

impl OutFile {
    /// Makes the contents last; returns size and checksum.
    pub(super) fn finish(self) -> io::Result<(u64, u32)> {
        self.disk.step(DiskStep::Sync)?;
        self.file.sync_all()?;
        Ok((self.size, self.crc.finalize()))
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // In pieces that are still in the cache when the checksum has read them.
        const PIECE: usize = 1 << 20;
        self.disk.step(DiskStep::Write)?;
        let n = self.file.write(&bytes[..bytes.len().min(PIECE)])?;
        self.crc.update(&bytes[..n]);
        self.size += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
