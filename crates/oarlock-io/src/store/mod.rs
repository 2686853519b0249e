//! Where saves go and loads come from: a folder of named files in which a save takes effect at once or not at all.
//!
//! The formats know only the traits here, so that a folder can be on a disk or somewhere else. Nothing here knows what
//! the files hold.

mod disk;
mod hadoop;
mod hdfs;
mod local;
mod manifest;
#[cfg(feature = "storage")]
mod objects;
#[cfg(feature = "storage")]
mod remote;
mod stored_file;

use std::io::{self, Write};

use oarlock_ir::{Error, Kind, Name, Result};

pub use disk::DiskStep;
pub use local::Local;
pub use manifest::{MANIFEST, Manifest, Seal};
pub use stored_file::StoredFile;

/// A folder of files.
pub trait Store: Send + Sync {
    /// A view in which all files are of one save: no save takes effect while it is held.
    fn view(&self) -> Result<Box<dyn View>>;

    /// Starts a save. Files of the folder that it does not write stay as they are.
    fn begin(&self) -> Result<Box<dyn Staging>>;

    /// A folder inside this one, which need not exist.
    fn folder(&self, name: &str) -> Result<Box<dyn Store>>;

    /// The names of the folders directly inside, sorted.
    fn folders(&self) -> Result<Vec<String>>;

    /// Deletes a folder inside this one with all it holds.
    fn remove_folder(&self, name: &str) -> Result<()>;

    /// How messages name it.
    fn describe(&self) -> String;
}

/// The files of a folder, to read.
pub trait View {
    /// Is there such a file?
    fn has(&self, name: &str) -> bool;

    /// Opens a file.
    fn open(&self, name: &str) -> Result<StoredFile>;

    /// The names of all files, those in folders inside too, sorted. The manifest is not among them.
    fn files(&self) -> Result<Vec<String>>;

    /// The manifest, written when the files were saved; `None` for a folder that another system wrote.
    fn manifest(&self) -> Option<&Manifest>;

    /// How messages name the folder.
    fn describe(&self) -> String;
}

/// The folder that a location means: a path, or a URL such as `s3://bucket/folder` or `hdfs://host/folder`.
pub fn open_store(location: &str) -> Result<Box<dyn Store>> {
    open_store_with(location, &[])
}

/// Is it a place in HDFS? `hdfs:/folder` is one on the host that Hadoop's settings name.
pub(crate) fn is_hdfs(location: &str) -> bool {
    ["hdfs:/", "afs:/"].iter().any(|scheme| location.starts_with(scheme))
}

/// The same with settings of Hadoop.
pub(crate) fn open_store_with(location: &str, hadoop: &[(String, String)]) -> Result<Box<dyn Store>> {
    if is_hdfs(location) {
        return Ok(Box::new(hdfs::Hdfs::at(location, hadoop)?));
    }
    match location.split_once("://") {
        None => Ok(Box::new(Local::at(location))),
        Some(("file", path)) => Ok(Box::new(Local::at(path))),
        Some((scheme, rest)) => open_remote(scheme, rest),
    }
}

/// The folder around the file that a location means, and the file's name in it.
pub fn open_around(location: &str) -> Result<(Box<dyn Store>, String)> {
    open_around_with(location, &[])
}

/// The same with settings of Hadoop.
pub(crate) fn open_around_with(location: &str, hadoop: &[(String, String)]) -> Result<(Box<dyn Store>, String)> {
    if is_hdfs(location) {
        let (folder, name) = location.rsplit_once('/').filter(|(_, name)| !name.is_empty()).ok_or_else(|| {
            Error::new(Kind::Argument, format!("{location} names a folder, not a file in it"))
                .help("write `hdfs://host/folder/name`")
        })?;
        return Ok((open_store_with(folder, hadoop)?, name.to_string()));
    }
    let Some((scheme, rest)) = location.split_once("://").filter(|(scheme, _)| *scheme != "file") else {
        let (store, name) = Local::around(std::path::Path::new(location.trim_start_matches("file://")))?;
        return Ok((Box::new(store), name));
    };
    match rest.rsplit_once('/') {
        Some((folder, name)) if !name.is_empty() => Ok((open_remote(scheme, folder)?, name.to_string())),
        _ => Err(Error::new(Kind::Argument, format!("{location} names a folder, not a file in it"))
            .help("write `scheme://bucket/folder/name`")),
    }
}

#[cfg(feature = "storage")]
fn open_remote(scheme: &str, rest: &str) -> Result<Box<dyn Store>> {
    Ok(Box::new(remote::Remote::at(scheme, rest)?))
}

#[cfg(not(feature = "storage"))]
fn open_remote(scheme: &str, rest: &str) -> Result<Box<dyn Store>> {
    let what = format!("{scheme}://{rest}: this build knows directories and HDFS only");
    Err(Error::new(Kind::Unsupported, what).help("build with the cargo feature `storage`, or use a directory"))
}

/// Writes the contents of one file.
pub type WriteFile<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// A save that has not taken effect yet. Dropping it leaves everything as it was.
pub trait Staging {
    /// Adds a file; `variables` says which variables it holds, in order, if that is not clear from its name.
    fn file(&mut self, name: &str, variables: &[Name], write: &mut WriteFile<'_>) -> Result<()>;

    /// Makes the save take effect.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// Refuses names that lead out of a folder or that the store itself uses: names come from programs, and those from anywhere.
fn check_name(name: &str) -> Result<()> {
    let bad = |why: &str| {
        let what = format!("`{name}` cannot be the name of a file in a folder: {why}");
        Err(Error::new(Kind::Argument, what).help("rename the variable or the file"))
    };
    if name == MANIFEST {
        return bad("the list of files has that name");
    }
    for part in name.split('/') {
        match part {
            "" | "." | ".." => return bad("a part of it is empty or made of dots"),
            _ if part.starts_with(local::OWN) => return bad("names that start so are kept for saves under way"),
            _ if part.contains('\0') => return bad("it has a zero byte"),
            _ => {}
        }
    }
    Ok(())
}

/// An error of the operating system.
pub(crate) fn io_error(does: &str, what: impl std::fmt::Display, e: &io::Error) -> Error {
    let error = Error::new(Kind::Io, format!("cannot {does} {what}: {e}"));
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            error.help("free some space; what was saved there before is still there")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            error.help("check the permissions, or choose another directory")
        }
        _ => error,
    }
}
