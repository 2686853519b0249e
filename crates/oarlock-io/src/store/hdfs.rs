//! A folder in HDFS: `hdfs://host/folder`.
//!
//! HDFS renames a folder at once, so a save does what it does on a disk (see `local`): all its files and the manifest
//! are put into a folder of their own, one rename makes it the committed one, and then its files are moved to their places. Until
//! they are, they are read from where they lie. One process at a time may save into a folder; who reads it meanwhile may have
//! to try again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Name, Result};

use super::hadoop::{Hadoop, path_of};
use super::local::{COMMITTED, Local, OWN, STAGING};
use super::manifest::{MANIFEST, Manifest, Seal};
use super::{Staging, Store, StoredFile, View, WriteFile, check_name, io_error};

/// Tells the saves of this process apart.
static NEXT_STAGING: AtomicU64 = AtomicU64::new(0);

/// A folder in HDFS.
#[derive(Clone)]
pub(super) struct Hdfs {
    hadoop: Hadoop,
    /// Where it is, without a slash at the end.
    url: String,
}

impl Hdfs {
    /// The folder at a URL. Nothing is asked of the cluster yet.
    pub(super) fn at(url: &str, settings: &[(String, String)]) -> Result<Hdfs> {
        Ok(Hdfs { hadoop: Hadoop::find(url, settings)?, url: url.trim_end_matches('/').to_string() })
    }

    fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// The files inside, with their sizes, by their names; `None` if there is no such folder.
    fn files(&self) -> Result<Option<BTreeMap<String, u64>>> {
        let Some(found) = self.hadoop.list(&self.url, true)? else { return Ok(None) };
        let inside = format!("{}/", path_of(&self.url).trim_end_matches('/'));
        let named = found.into_iter().filter(|entry| !entry.is_folder);
        Ok(Some(named.filter_map(|e| Some((e.path.strip_prefix(&inside)?.to_string(), e.size))).collect()))
    }

    /// The manifest that counts, of a folder with these files.
    fn manifest(&self, files: &BTreeMap<String, u64>) -> Result<Option<Manifest>> {
        let places = [format!("{COMMITTED}/{MANIFEST}"), MANIFEST.to_string()];
        let Some(place) = places.iter().find(|place| files.contains_key(*place)) else { return Ok(None) };
        let (mut bytes, url) = (Vec::new(), self.url(place));
        self.hadoop.read(&url)?.read_to_end(&mut bytes).map_err(|e| io_error("read", &url, &e))?;
        Manifest::from_bytes(&bytes, &url).map(Some)
    }

    /// Moves the files of a save that has taken effect to their places, and deletes what killed saves left.
    fn settle(&self) -> Result<()> {
        let files = self.files()?.unwrap_or_default();
        let committed = format!("{COMMITTED}/");
        let moved: Vec<&str> = files.keys().filter_map(|name| name.strip_prefix(&committed)).collect();
        let (manifest, moved): (Vec<&str>, Vec<&str>) = moved.into_iter().partition(|name| *name == MANIFEST);
        let mut by_folder = BTreeMap::<&str, Vec<&str>>::new();
        for name in moved {
            by_folder.entry(name.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default().push(name);
        }
        for (folder, names) in &by_folder {
            self.move_all(folder, names, &files)?;
        }
        // Last: without it the committed folder is no save.
        if !manifest.is_empty() {
            self.move_all("", &manifest, &files)?;
        }
        let folders =
            files.keys().filter_map(|name| Some(name.split_once('/')?.0)).filter(|name| name.starts_with(OWN));
        // The committed folder is empty by now, and no file tells of it; the next rename must not find it.
        let own: BTreeSet<&str> = folders.chain([COMMITTED]).collect();
        self.hadoop.delete(&own.into_iter().map(|name| self.url(name)).collect::<Vec<_>>())
    }

    /// Moves files of the committed folder to where they belong, in place of those that are there.
    fn move_all(&self, folder: &str, names: &[&str], files: &BTreeMap<String, u64>) -> Result<()> {
        let target = if folder.is_empty() { self.url.clone() } else { self.url(folder) };
        if !folder.is_empty() {
            self.hadoop.make_folders(std::slice::from_ref(&target))?;
        }
        let replaced = names.iter().filter(|name| files.contains_key(**name));
        self.hadoop.delete(&replaced.map(|name| self.url(name)).collect::<Vec<_>>())?;
        let from: Vec<String> = names.iter().map(|name| self.url(&format!("{COMMITTED}/{name}"))).collect();
        self.hadoop.move_into(&from, &target)
    }

    fn own_name(&self) -> String {
        format!("{STAGING}{}-{}", std::process::id(), NEXT_STAGING.fetch_add(1, Ordering::Relaxed))
    }
}

impl Store for Hdfs {
    fn view(&self) -> Result<Box<dyn View>> {
        let Some(files) = self.files()? else {
            let what = format!("there is no folder {}", self.url);
            return Err(Error::new(Kind::Missing, what).help("check the host and the path"));
        };
        let manifest = self.manifest(&files)?;
        Ok(Box::new(HdfsView { store: self.clone(), manifest, files }))
    }

    fn begin(&self) -> Result<Box<dyn Staging>> {
        let name = self.own_name();
        let path = std::env::temp_dir().join(format!("oarlock-hdfs{name}"));
        std::fs::create_dir_all(&path).map_err(|e| io_error("stage a save in", path.display(), &e))?;
        Ok(Box::new(HdfsStaging { store: self.clone(), path, name, files: BTreeMap::new() }))
    }

    fn folder(&self, name: &str) -> Result<Box<dyn Store>> {
        check_name(name)?;
        Ok(Box::new(Hdfs { hadoop: self.hadoop.clone(), url: self.url(name) }))
    }

    fn folders(&self) -> Result<Vec<String>> {
        let found = self.hadoop.list(&self.url, false)?.unwrap_or_default();
        let folders = found.iter().filter(|entry| entry.is_folder);
        let names = folders.filter_map(|entry| Some(entry.path.rsplit_once('/')?.1.to_string()));
        let mut names: Vec<String> = names.filter(|name| !name.starts_with(OWN)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn remove_folder(&self, name: &str) -> Result<()> {
        check_name(name)?;
        // Out of the way first: what is killed while deleting must not leave half a folder under its name.
        let away = self.url(&self.own_name());
        self.hadoop.rename(&self.url(name), &away)?;
        self.hadoop.delete(&[away])
    }

    fn describe(&self) -> String {
        self.url.clone()
    }
}

/// The files of a folder, as its listing and its manifest were at one moment.
struct HdfsView {
    store: Hdfs,
    manifest: Option<Manifest>,
    files: BTreeMap<String, u64>,
}

impl HdfsView {
    /// Where a file is: in a save that has taken effect but is not moved yet, or in its place.
    fn place(&self, name: &str) -> Option<(String, u64)> {
        let committed = format!("{COMMITTED}/{name}");
        let found = [committed, name.to_string()].into_iter().find(|place| self.files.contains_key(place))?;
        let size = self.files[&found];
        Some((found, size))
    }
}

impl View for HdfsView {
    fn has(&self, name: &str) -> bool {
        check_name(name).is_ok() && self.place(name).is_some()
    }

    fn open(&self, name: &str) -> Result<StoredFile> {
        check_name(name)?;
        let origin = self.store.url(name);
        let Some((place, size)) = self.place(name) else {
            return Err(Error::new(Kind::Missing, format!("there is no file {origin}")));
        };
        let seal = self.manifest.as_ref().and_then(|m| m.files.get(name)).cloned();
        Ok(StoredFile::new(origin, size, seal, self.store.hadoop.read(&self.store.url(&place))?))
    }

    fn files(&self) -> Result<Vec<String>> {
        let committed = format!("{COMMITTED}/");
        let names = self.files.keys().map(|name| name.strip_prefix(&committed).unwrap_or(name));
        let names = names.filter(|name| !name.starts_with(OWN) && *name != MANIFEST);
        Ok(names.map(str::to_string).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}

/// A save under way, on this machine: it travels as a whole.
struct HdfsStaging {
    store: Hdfs,
    path: PathBuf,
    /// Its folder in the target, before it counts.
    name: String,
    files: BTreeMap<String, Seal>,
}

impl HdfsStaging {
    fn write(&self, name: &str, write: &mut WriteFile<'_>) -> Result<(u64, u32)> {
        let path = self.path.join(name);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| Local::at(&self.path).write_file(&path, write));
        written.map_err(|e| io_error("write", path.display(), &e))
    }
}

impl Staging for HdfsStaging {
    fn file(&mut self, name: &str, variables: &[Name], write: &mut WriteFile<'_>) -> Result<()> {
        check_name(name)?;
        if self.files.contains_key(name) {
            return Err(Error::new(Kind::Argument, format!("two files of one save are called `{name}`")));
        }
        let (size, crc32) = self.write(name, write)?;
        self.files.insert(name.into(), Seal { size, crc32, variables: variables.to_vec(), at: None });
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let store = self.store.clone();
        store.hadoop.make_folders(std::slice::from_ref(&store.url))?;
        store.settle()?;
        let there = store.files()?.unwrap_or_default();
        // A manifest that cannot be read protects nothing; this save writes a new one.
        let mut manifest = store.manifest(&there).unwrap_or_default().unwrap_or_default();
        manifest.files.retain(|name, _| there.contains_key(name));
        manifest.files.append(&mut self.files);
        let bytes = manifest.to_bytes();
        self.write(MANIFEST, &mut |out| out.write_all(&bytes))?;
        let staged = store.url(&self.name);
        store.hadoop.put(&self.path, &staged)?;
        store.hadoop.rename(&staged, &store.url(COMMITTED))?;
        store.settle().map_err(|e| {
            e.note("the save is complete and can be loaded; the next one here moves its files to their places")
        })
    }
}

impl Drop for HdfsStaging {
    fn drop(&mut self) {
        // What cannot be deleted is in the directory for temporary files.
        std::fs::remove_dir_all(&self.path).ok();
    }
}
