//! A folder on a disk.
//!
//! A save is many files, and yet it takes effect at once. Its files are written into a folder of their own inside the
//! target and made to last, the manifest last of all. Renaming that folder to [`COMMITTED`] is the moment the save
//! takes effect: from then on readers find its files there first. Then the files are moved to where other systems look
//! for them, again the manifest last. A save that was killed before that moment never was; one that was killed after
//! it is read from where it lies, and moved by the next save. Files that a save does not write are not touched.
//!
//! Locks on the folder itself (they vanish with their process) keep readers from seeing half a move.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Name, Result};

use super::disk::{Disk, DiskStep};
use super::manifest::{MANIFEST, Manifest, Seal};
use super::{Staging, Store, StoredFile, View, WriteFile, check_name, io_error};

/// How the names start that only this module uses.
pub(super) const OWN: &str = ".oarlock-";
/// Folders of saves under way, or of things being deleted.
pub(super) const STAGING: &str = ".oarlock-staging-";
/// The folder of a save that has taken effect but is not moved yet.
pub(super) const COMMITTED: &str = ".oarlock-committed";

/// How long to wait for a lock: a save waits for a process that loads a large model from the folder.
const LOCK_PAUSE: Duration = Duration::from_millis(10);
const LOCK_ATTEMPTS: u32 = 60_000;

/// Tells the saves of this process apart.
static NEXT_STAGING: AtomicU64 = AtomicU64::new(0);

/// A folder on a disk.
#[derive(Clone)]
pub struct Local {
    root: PathBuf,
    disk: Disk,
}

impl Local {
    /// The folder at a path, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Local {
        Local { root: root.into(), disk: Disk::default() }
    }

    /// The same, telling `watch` of every step before it is done; an error of `watch` makes the step fail. With this,
    /// tests stop a save wherever they like.
    pub fn watched(
        root: impl Into<PathBuf>,
        watch: impl Fn(DiskStep) -> io::Result<()> + Send + Sync + 'static,
    ) -> Local {
        Local { root: root.into(), disk: Disk::watched(Arc::new(watch)) }
    }

    /// The folder around a file, and the file's name in it.
    pub fn around(path: &Path) -> Result<(Local, String)> {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.is_empty() {
            let what = format!("{} names a directory, not a file in it", path.display());
            return Err(Error::new(Kind::Argument, what).help("write `directory/name`"));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Local::at(folder), name))
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Replaces one file at once, without noting it in a manifest. Makes the folder if it is missing.
    pub(crate) fn replace_file(&self, name: &str, write: &mut WriteFile<'_>) -> Result<()> {
        check_name(name)?;
        self.disk.create_dir_all(&self.root).map_err(|e| io_error("save into", self.root.display(), &e))?;
        let _lock = self.lock(File::try_lock)?;
        let (part, path) = (self.root.join(own_name()), self.root.join(name));
        let done = self.write_file(&part, write).and_then(|_| {
            self.disk.rename(&part, &path)?;
            self.disk.sync_dir(&self.root)
        });
        done.map_err(|e| {
            // The error is what matters; a part that cannot be deleted is removed by the next save here.
            drop(fs::remove_file(&part));
            io_error("write", path.display(), &e)
        })
    }

    /// Writes a file and makes it last.
    pub(super) fn write_file(&self, path: &Path, write: &mut WriteFile<'_>) -> io::Result<(u64, u32)> {
        let mut out = BufWriter::with_capacity(1 << 16, self.disk.create_file(path)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }

    /// Waits for a lock on the folder. `None` where the file system has no locks: then saving and loading at the same
    /// time is up to the user.
    fn lock(&self, try_lock: fn(&File) -> std::result::Result<(), TryLockError>) -> Result<Option<File>> {
        let folder = File::open(&self.root).map_err(|e| io_error("open", self.root.display(), &e))?;
        for _ in 0..LOCK_ATTEMPTS {
            match try_lock(&folder) {
                Ok(()) => return Ok(Some(folder)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
        let waited = (LOCK_PAUSE * LOCK_ATTEMPTS).as_secs();
        let what = format!("{} has been in use by another save or load for {waited} seconds", self.root.display());
        Err(Error::new(Kind::Io, what).help("find the process that holds it (`fuser`, `lsof`) and end it"))
    }

    /// Deletes what killed saves left. Their locks died with them.
    fn remove_stale(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(STAGING) {
                continue;
            }
            let path = entry.path();
            if !entry.file_type()?.is_dir() {
                fs::remove_file(path)?;
            } else if File::open(&path).is_ok_and(|folder| folder.try_lock().is_ok()) {
                self.disk.remove_dir_all(&path)?;
            }
        }
        Ok(())
    }

    /// Moves the files of a save that has taken effect to their places.
    fn move_committed(&self) -> io::Result<()> {
        let committed = self.root.join(COMMITTED);
        if !committed.is_dir() {
            return Ok(());
        }
        self.move_files(&committed, &self.root)?;
        let manifest = committed.join(MANIFEST);
        if manifest.exists() {
            self.disk.rename(&manifest, &self.root.join(MANIFEST))?;
            self.disk.sync_dir(&self.root)?;
        }
        self.disk.remove_dir_all(&committed)
    }

    /// Moves all files but the manifest.
    fn move_files(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.move_files(&entry.path(), &target)?;
            } else if entry.file_name() != MANIFEST {
                self.disk.rename(&entry.path(), &target)?;
            }
        }
        self.disk.sync_dir(to)
    }

    /// The manifest's entries of files that are still there.
    fn manifest(&self) -> Manifest {
        // A manifest that cannot be read protects nothing; the save at hand writes a new one.
        let bytes = fs::read(self.root.join(MANIFEST)).unwrap_or_default();
        let mut manifest = Manifest::from_bytes(&bytes, MANIFEST).unwrap_or_default();
        manifest.files.retain(|name, _| self.root.join(name).is_file());
        manifest
    }
}

/// A name that no other process uses.
fn own_name() -> String {
    format!("{STAGING}{}-{}", std::process::id(), NEXT_STAGING.fetch_add(1, Ordering::Relaxed))
}

impl Store for Local {
    fn view(&self) -> Result<Box<dyn View>> {
        if !self.root.is_dir() {
            let what = format!("there is no directory {}", self.root.display());
            return Err(Error::new(Kind::Missing, what).help("check the path; relative paths start where you are"));
        }
        let lock = self.lock(File::try_lock_shared)?;
        let mut view = LocalView { root: self.root.clone(), manifest: None, lock };
        let path = view.path(MANIFEST);
        match fs::read(&path) {
            Ok(bytes) => view.manifest = Some(Manifest::from_bytes(&bytes, &path.display().to_string())?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(io_error("read", path.display(), &e)),
        }
        Ok(Box::new(view))
    }

    fn begin(&self) -> Result<Box<dyn Staging>> {
        let fail = |e: io::Error| io_error("save into", self.root.display(), &e);
        self.disk.create_dir_all(&self.root).map_err(fail)?;
        // Held until the new folder is locked: no other save may take it for a stale one.
        let _lock = self.lock(File::try_lock)?;
        self.remove_stale().map_err(fail)?;
        let path = self.root.join(own_name());
        self.disk.create_dir(&path).map_err(fail)?;
        let lock = File::open(&path).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(Box::new(LocalStaging { store: self.clone(), path, files: BTreeMap::new(), lock }))
    }

    fn folder(&self, name: &str) -> Result<Box<dyn Store>> {
        check_name(name)?;
        Ok(Box::new(Local { root: self.root.join(name), disk: self.disk.clone() }))
    }

    fn folders(&self) -> Result<Vec<String>> {
        let fail = |e: io::Error| io_error("list", self.root.display(), &e);
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(fail(e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() && !name.starts_with(OWN) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn remove_folder(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let _lock = self.lock(File::try_lock)?;
        let (path, away) = (self.root.join(name), self.root.join(own_name()));
        let remove = || {
            // Out of the way first: what is killed while deleting must not leave half a folder under its name.
            self.disk.rename(&path, &away)?;
            self.remove_stale()
        };
        remove().map_err(|e| io_error("delete", path.display(), &e))
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

/// The files of a folder while no save moves any.
struct LocalView {
    root: PathBuf,
    manifest: Option<Manifest>,
    #[expect(dead_code, reason = "held, not read")]
    lock: Option<File>,
}

impl LocalView {
    /// Where a file is: in a save that has taken effect but is not moved yet, or in its place.
    fn path(&self, name: &str) -> PathBuf {
        let committed = self.root.join(COMMITTED).join(name);
        if committed.is_file() { committed } else { self.root.join(name) }
    }

    fn walk(&self, folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(OWN) || name == MANIFEST {
                continue;
            }
            let name = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                self.walk(&entry.path(), &format!("{name}/"), names)?;
            } else if entry.path().is_file() {
                names.push(name);
            }
        }
        Ok(())
    }
}

impl View for LocalView {
    fn has(&self, name: &str) -> bool {
        check_name(name).is_ok() && self.path(name).is_file()
    }

    fn open(&self, name: &str) -> Result<StoredFile> {
        check_name(name)?;
        let path = self.path(name);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((about, _)) if !about.is_file() => {
                Err(Error::new(Kind::Missing, format!("{} is not a file", path.display())))
            }
            Ok((about, file)) => {
                let seal = self.manifest.as_ref().and_then(|m| m.files.get(name)).cloned();
                let from = BufReader::with_capacity(1 << 16, file);
                Ok(StoredFile::new(path.display().to_string(), about.len(), seal, Box::new(from)))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::new(Kind::Missing, format!("there is no file {}", path.display())))
            }
            Err(e) => Err(io_error("read", path.display(), &e)),
        }
    }

    fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let committed = self.root.join(COMMITTED);
        let walked = self.walk(&self.root, "", &mut names).and_then(|()| match committed.is_dir() {
            true => self.walk(&committed, "", &mut names),
            false => Ok(()),
        });
        walked.map_err(|e| io_error("list", self.root.display(), &e))?;
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

/// A save under way.
struct LocalStaging {
    store: Local,
    path: PathBuf,
    files: BTreeMap<String, Seal>,
    /// Tells other saves that this one is alive.
    lock: Option<File>,
}

impl LocalStaging {
    fn try_file(&mut self, name: &str, write: &mut WriteFile<'_>) -> io::Result<(u64, u32)> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            self.store.disk.create_dir_all(folder)?;
        }
        self.store.write_file(&path, write)
    }

    /// Refuses a save that could not be moved into place: a file where a folder is, or the reverse.
    fn check_targets(&self) -> Result<()> {
        for name in self.files.keys() {
            let target = self.store.root.join(name);
            let around = target.ancestors().skip(1).take_while(|a| *a != self.store.root);
            let (path, is) = match around.into_iter().find(|a| a.is_file()) {
                Some(file) => (file.to_path_buf(), "a file, but it must be a directory"),
                None if target.is_dir() => (target, "a directory, but it must be a file"),
                None => continue,
            };
            let what = format!("cannot save {name} into {}: {} is {is}", self.store.root.display(), path.display());
            return Err(Error::new(Kind::Io, what).help("choose another directory, or move it away"));
        }
        Ok(())
    }

    /// Everything up to the moment the save takes effect, and that moment.
    fn take_effect(&mut self) -> io::Result<()> {
        let (store, disk) = (&self.store, &self.store.disk);
        store.move_committed()?;
        let mut manifest = store.manifest();
        manifest.files.append(&mut self.files);
        let bytes = manifest.to_bytes();
        store.write_file(&self.path.join(MANIFEST), &mut |out| out.write_all(&bytes))?;
        sync_dirs(disk, &self.path)?;
        disk.rename(&self.path, &store.root.join(COMMITTED))?;
        disk.sync_dir(&store.root)
    }
}

fn sync_dirs(disk: &Disk, path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_dirs(disk, &entry.path())?;
        }
    }
    disk.sync_dir(path)
}

impl Staging for LocalStaging {
    fn file(&mut self, name: &str, variables: &[Name], write: &mut WriteFile<'_>) -> Result<()> {
        check_name(name)?;
        if self.files.contains_key(name) {
            return Err(Error::new(Kind::Argument, format!("two files of one save are called `{name}`")));
        }
        let (size, crc32) =
            self.try_file(name, write).map_err(|e| io_error("write", self.store.root.join(name).display(), &e))?;
        self.files.insert(name.into(), Seal { size, crc32, variables: variables.to_vec(), at: None });
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let root = self.store.root.clone();
        let _lock = self.store.lock(File::try_lock)?;
        self.check_targets()?;
        self.take_effect().map_err(|e| io_error("save into", root.display(), &e))?;
        self.store.move_committed().map_err(|e| {
            io_error("move the saved files into place in", root.display(), &e)
                .note("the save is complete and can be loaded; the next one here moves its files")
        })
    }
}

impl Drop for LocalStaging {
    fn drop(&mut self) {
        self.lock = None;
        if self.path.is_dir() {
            // A save that failed; what cannot be deleted now is deleted by the next one.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}
