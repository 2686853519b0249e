//! A folder in an object store: `s3://bucket/folder`.
//!
//! Objects cannot be renamed, but one can be replaced at once. So a save puts its files under a name of its own, and then
//! replaces the manifest, which says where each file is: at that moment the save takes effect. Then the files are copied to
//! where other systems look for them, the manifest is replaced again, and the first copies are deleted. A save that was
//! killed before its manifest never was; one that was killed after it is read from where it lies. What killed saves left is
//! deleted by the next one. One process at a time may save into a folder; who reads it meanwhile may have to try again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Name, Result};

use super::manifest::{MANIFEST, Manifest, Seal};
use super::objects::{Objects, Upload};
use super::{Staging, Store, StoredFile, View, WriteFile, check_name, local};

/// How the folders of saves under way start.
const STAGING: &str = ".oarlock-staging-";

/// Bytes that are read at a time.
const PIECE: u64 = 8 << 20;

/// Tells the saves of this process apart.
static NEXT_STAGING: AtomicU64 = AtomicU64::new(0);

/// A folder in an object store.
#[derive(Clone)]
pub(super) struct Remote {
    objects: Objects,
    /// The key of the folder, without a slash at the end; empty for the bucket itself.
    folder: String,
}

impl Remote {
    /// The folder at a URL, whose parts around `://` are given. Nothing is asked of the server yet.
    pub(super) fn at(scheme: &str, rest: &str) -> Result<Remote> {
        let (objects, folder) = Objects::connect(scheme, rest)?;
        Ok(Remote { objects, folder })
    }

    /// The key of a file or a folder inside.
    fn key(&self, name: &str) -> String {
        if self.folder.is_empty() { name.to_string() } else { format!("{}/{name}", self.folder) }
    }

    fn read_manifest(&self) -> Result<Option<Manifest>> {
        let key = self.key(MANIFEST);
        let Some(size) = self.objects.size(&key)? else { return Ok(None) };
        let bytes = self.objects.get(&key, 0..size)?;
        Manifest::from_bytes(&bytes, &format!("{}/{key}", self.objects.bucket)).map(Some)
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        self.objects.put(&self.key(MANIFEST), manifest.to_bytes())
    }

    /// Copies the files of a save that has taken effect to their places, and deletes what saves left.
    fn settle(&self, manifest: &mut Manifest) -> Result<()> {
        for (name, seal) in &manifest.files {
            if let Some(at) = &seal.at {
                self.objects.copy(&self.key(at), &self.key(name))?;
            }
        }
        manifest.files.values_mut().for_each(|seal| seal.at = None);
        self.write_manifest(manifest)?;
        self.remove_stale()
    }

    fn remove_stale(&self) -> Result<()> {
        let stale = self.key(STAGING);
        let found = self.objects.list(&self.folder)?;
        found.iter().filter(|f| f.key.starts_with(&stale)).try_for_each(|f| self.objects.delete(&f.key))
    }
}

impl Store for Remote {
    fn view(&self) -> Result<Box<dyn View>> {
        let manifest = self.read_manifest()?;
        let inside = self.key("");
        let found = self.objects.list(&self.folder)?;
        let files: BTreeMap<String, u64> =
            found.iter().filter_map(|f| Some((f.key.strip_prefix(&inside)?.to_string(), f.size))).collect();
        if files.is_empty() {
            let what = format!("there is nothing in {}", self.describe());
            return Err(Error::new(Kind::Missing, what).help("check the bucket and the path"));
        }
        Ok(Box::new(RemoteView { store: self.clone(), manifest, files }))
    }

    fn begin(&self) -> Result<Box<dyn Staging>> {
        let id = NEXT_STAGING.fetch_add(1, Ordering::Relaxed);
        let at = format!("{STAGING}{}-{id}", std::process::id());
        Ok(Box::new(RemoteStaging { store: self.clone(), at, files: BTreeMap::new(), committed: false }))
    }

    fn folder(&self, name: &str) -> Result<Box<dyn Store>> {
        check_name(name)?;
        Ok(Box::new(Remote { objects: self.objects.clone(), folder: self.key(name) }))
    }

    fn folders(&self) -> Result<Vec<String>> {
        let inside = self.key("");
        let found = self.objects.folders(&self.folder)?;
        let names =
            found.iter().filter_map(|key| key.strip_prefix(&inside)).filter(|name| !name.starts_with(local::OWN));
        Ok(names.map(str::to_string).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn remove_folder(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let folder = self.key(name);
        // Without its manifest it is no longer a save, whatever is left when this is killed.
        self.objects.delete(&format!("{folder}/{MANIFEST}"))?;
        self.objects.list(&folder)?.iter().try_for_each(|f| self.objects.delete(&f.key))
    }

    fn describe(&self) -> String {
        format!("{}/{}", self.objects.bucket, self.folder)
    }
}

/// The files of a folder, as its manifest and its listing were at one moment.
struct RemoteView {
    store: Remote,
    manifest: Option<Manifest>,
    files: BTreeMap<String, u64>,
}

impl RemoteView {
    /// Where a file is: in its place, or where the save that has taken effect put it.
    fn place<'a>(&'a self, name: &'a str) -> &'a str {
        let seal = self.manifest.as_ref().and_then(|m| m.files.get(name));
        seal.and_then(|seal| seal.at.as_deref()).unwrap_or(name)
    }
}

impl View for RemoteView {
    fn has(&self, name: &str) -> bool {
        self.files.contains_key(self.place(name))
    }

    fn open(&self, name: &str) -> Result<StoredFile> {
        check_name(name)?;
        let place = self.place(name);
        let origin = format!("{}/{name}", self.store.describe());
        let Some(&len) = self.files.get(place) else {
            return Err(Error::new(Kind::Missing, format!("there is no file {origin}")));
        };
        let seal = self.manifest.as_ref().and_then(|m| m.files.get(name)).cloned();
        let from = Download {
            store: self.store.clone(),
            key: self.store.key(place),
            at: 0,
            len,
            piece: io::Cursor::default(),
        };
        Ok(StoredFile::new(origin, len, seal, Box::new(from)))
    }

    fn files(&self) -> Result<Vec<String>> {
        let placed = self.manifest.iter().flat_map(|m| &m.files).filter(|(_, seal)| seal.at.is_some());
        let mut names: BTreeSet<String> = placed.map(|(name, _)| name.clone()).collect();
        names.extend(self.files.keys().filter(|n| !n.starts_with(local::OWN) && *n != MANIFEST).cloned());
        Ok(names.into_iter().collect())
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}

/// An object being read, piece by piece.
struct Download {
    store: Remote,
    key: String,
    at: u64,
    len: u64,
    piece: io::Cursor<Vec<u8>>,
}

impl Read for Download {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 && self.at < self.len {
            let end = self.len.min(self.at + PIECE);
            let bytes = self.store.objects.get(&self.key, self.at..end).map_err(io::Error::other)?;
            (self.at, self.piece) = (end, io::Cursor::new(bytes));
        }
        self.piece.read(to)
    }
}

/// A save under way.
struct RemoteStaging {
    store: Remote,
    /// The folder of its files, inside the target.
    at: String,
    files: BTreeMap<String, Seal>,
    committed: bool,
}

/// Counts and checks what goes into an object.
struct Sealing {
    upload: Upload,
    size: u64,
    crc: crc32fast::Hasher,
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.upload.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.size += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Staging for RemoteStaging {
    fn file(&mut self, name: &str, variables: &[Name], write: &mut WriteFile<'_>) -> Result<()> {
        check_name(name)?;
        if self.files.contains_key(name) {
            return Err(Error::new(Kind::Argument, format!("two files of one save are called `{name}`")));
        }
        let at = format!("{}/{name}", self.at);
        let upload = self.store.objects.upload(&self.store.key(&at));
        let mut out = Sealing { upload, size: 0, crc: crc32fast::Hasher::new() };
        write(&mut out)
            .map_err(|e| Error::new(Kind::Io, format!("cannot write {}/{name}: {e}", self.store.describe())))?;
        let seal = Seal { size: out.size, crc32: out.crc.finalize(), variables: variables.to_vec(), at: Some(at) };
        out.upload.finish()?;
        self.files.insert(name.into(), seal);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        // A manifest that cannot be read protects nothing; this save writes a new one.
        let mut manifest = self.store.read_manifest().unwrap_or_default().unwrap_or_default();
        manifest.files.append(&mut self.files);
        self.store.write_manifest(&manifest)?;
        self.committed = true;
        self.store.settle(&mut manifest).map_err(|e| {
            e.note("the save is complete and can be loaded; the next one here copies its files to their places")
        })
    }
}

impl Drop for RemoteStaging {
    fn drop(&mut self) {
        if !self.committed {
            // A save that failed; what cannot be deleted now is deleted by the next one.
            drop(self.store.remove_stale());
        }
    }
}
