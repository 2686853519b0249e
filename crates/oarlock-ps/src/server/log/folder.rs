//! The folder of a server's log.
//!
//! ```text
//! ROOT/JOB/NUMBER/lock                  locked by the process that serves
//!                 server/server.json    job, number, lineage, epoch, program, versions
//!                 snapshot-N            the state at the beginning of segment N
//!                 segment-N.log         records
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use oarlock_io::wal::{Durability, Wal};
use oarlock_io::{Local, Store};
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{file_name, nonce};
use serde_json::{Value as Json, json};

use super::LogOptions;

/// The version of `server.json` and of snapshots.
const FORMAT: u64 = 1;
const SERVER: &str = "server.json";
const SNAPSHOT: &str = "snapshot-";

/// The folder of a log, which this process has locked.
pub(in crate::server) struct LogFolder {
    path: PathBuf,
    pub(super) durability: Durability,
    pub(in crate::server) lineage: String,
    pub(in crate::server) epoch: u64,
    /// The segment after the newest snapshot; none if there is nothing to restore.
    pub(super) segment: Option<u64>,
    _lock: File,
}

/// The server that a log belongs to.
pub(in crate::server) struct Owner<'a> {
    pub(in crate::server) job: &'a str,
    /// Its number, or its endpoint.
    pub(in crate::server) server: &'a str,
    pub(in crate::server) fingerprint: &'a str,
}

impl LogFolder {
    /// Finds or makes the folder of a server's log, and takes it for this process.
    pub(in crate::server) fn claim(options: &LogOptions, owner: &Owner<'_>) -> Result<LogFolder> {
        if owner.job.is_empty() {
            return Err(Error::new(Kind::Argument, "a server with a log needs the name of its job")
                .note(format!("the log is to be in {}", options.root.display()))
                .help("set OARLOCK_JOB_ID to a name that is new for every job: by it a server that is restarted finds its log"));
        }
        let path = options.root.join(file_name(owner.job)).join(file_name(owner.server));
        fs::create_dir_all(&path).map_err(|e| not_usable(&path, &e))?;
        let lock = lock(&path)?;
        let segment = newest_snapshot(&path)?;
        let known = read_identity(&path, owner)?;
        let (lineage, epoch) = match (known, segment) {
            (Some((lineage, epoch)), Some(_)) => (lineage, epoch + 1),
            // No snapshot was complete, so the server never listened.
            _ => (nonce(), 1),
        };
        let folder = LogFolder { path, durability: options.durability, lineage, epoch, segment, _lock: lock };
        folder.write_identity(owner)?;
        Ok(folder)
    }

    /// A new log in the folder.
    pub(super) fn create(&self) -> Result<Wal> {
        Wal::create(&self.path, &self.lineage, self.durability)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The store of a snapshot.
    pub(super) fn snapshot(&self, segment: u64) -> Result<Box<dyn Store>> {
        Local::at(&self.path).folder(&format!("{SNAPSHOT}{segment}"))
    }

    /// Removes the snapshots before this one.
    pub(super) fn remove_before(&self, segment: u64) -> Result<()> {
        let store = Local::at(&self.path);
        let folders = store.folders()?;
        let old = folders.iter().filter(|name| snapshot_number(name).is_some_and(|number| number < segment));
        { old }.try_for_each(|name| store.remove_folder(name))
    }

    /// Deletes all of it, and the folder of the job if it is empty then.
    pub(super) fn delete(&self) -> Result<()> {
        fs::remove_dir_all(&self.path).map_err(|e| not_usable(&self.path, &e))?;
        // Other servers of the job may have theirs there, and so may other jobs.
        let _ = self.path.parent().map(fs::remove_dir);
        Ok(())
    }

    fn write_identity(&self, owner: &Owner<'_>) -> Result<()> {
        let text = format!(
            "{:#}\n",
            json!({
                "format": FORMAT,
                "wire": oarlock_net::VERSION,
                "release": env!("CARGO_PKG_VERSION"),
                "job": owner.job,
                "server": owner.server,
                "program": owner.fingerprint,
                "lineage": self.lineage,
                "epoch": self.epoch,
            })
        );
        let mut staging = Local::at(self.path.join("server")).begin()?;
        staging.file(SERVER, &[], &mut |out| out.write_all(text.as_bytes()))?;
        staging.commit()
    }
}

/// The lineage and the epoch of a log, which must be of this server.
fn read_identity(path: &Path, owner: &Owner<'_>) -> Result<Option<(String, u64)>> {
    let store = Local::at(path.join("server"));
    if !store.root().is_dir() {
        return Ok(None);
    }
    let view = store.view()?;
    if !view.has(SERVER) {
        return Ok(None);
    }
    let file = view.open(SERVER)?;
    let origin = file.origin().to_string();
    let known: Json = serde_json::from_slice(&file.bytes()?)
        .map_err(|e| Error::new(Kind::Format, format!("{origin} does not say whose log this is: {e}")))?;
    let (format, wire) = (known["format"].as_u64(), known["wire"].as_u64());
    if format != Some(FORMAT) || wire != Some(oarlock_net::VERSION.into()) {
        let release = known["release"].as_str().unwrap_or("unknown");
        let what = format!("the log in {} was written by another release of Oarlock: {release}", path.display());
        return Err(Error::new(Kind::Unsupported, what)
            .note(format!("this is release {}", env!("CARGO_PKG_VERSION")))
            .help("go on with the release that wrote it, or start a new job from the last checkpoint"));
    }
    for (what, key, ours) in
        [("job", "job", owner.job), ("server", "server", owner.server), ("program", "program", owner.fingerprint)]
    {
        let theirs = known[key].as_str().unwrap_or_default();
        if theirs != ours {
            let what = format!("the log in {} is of {what} {theirs:?}, and this is {what} {ours:?}", path.display());
            return Err(Error::new(Kind::Argument, what).help(
                "restart a server with the script and the settings that it had, or give a new job another name",
            ));
        }
    }
    let identity = (known["lineage"].as_str().map(str::to_string), known["epoch"].as_u64());
    let (Some(lineage), Some(epoch)) = identity else {
        return Err(Error::new(Kind::Format, format!("{origin} does not say whose log this is")));
    };
    Ok(Some((lineage, epoch)))
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(path.join("lock")).map_err(|e| not_usable(path, &e))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let what = format!("another process serves with the log in {}", path.display());
            Err(Error::new(Kind::Io, what)
                .help("end the other process, or give this job another name (OARLOCK_JOB_ID)"))
        }
        // Where the file system has no locks, the port of the server tells two of them apart.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// The newest complete snapshot.
fn newest_snapshot(path: &Path) -> Result<Option<u64>> {
    let store = Local::at(path);
    let mut numbers: Vec<u64> = store.folders()?.iter().filter_map(|name| snapshot_number(name)).collect();
    numbers.sort_unstable();
    for number in numbers.into_iter().rev() {
        if store.folder(&format!("{SNAPSHOT}{number}"))?.view()?.manifest().is_some() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn snapshot_number(name: &str) -> Option<u64> {
    name.strip_prefix(SNAPSHOT)?.parse().ok()
}

fn not_usable(path: &Path, e: &io::Error) -> Error {
    Error::new(Kind::Io, format!("the log of this server cannot be in {}: {e}", path.display()))
        .help("name a directory that this process may write (--server-log, OARLOCK_SERVER_LOG)")
}
