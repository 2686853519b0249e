//! The log of a server: what it needs to go on when its process was killed, with every update that it acknowledged.
//!
//! A server appends a request that changes its state to a write-ahead log ([`oarlock_io::wal`]) before it changes anything and before it
//! replies: the frame as it came over the wire, with the process that sent it ([`record`]). Joins and losses of trainers are records, too.
//! From time to time, and first before it listens, the server writes a snapshot beside the log ([`saved`]), from which on the log is
//! needed only: variables and tables as in a checkpoint, and the state that no checkpoint has, such as the sequence numbers of the pushes
//! that were applied, by which a repeated push is recognized.
//!
//! A server that is started with a log loads the newest snapshot, replays the records behind it through the handlers of their requests
//! ([`recover`]), and goes on as the next epoch of the same lineage. Records that are serialized by the lock of the state (synchronous
//! training) are replayed in the order in which they took effect, so that the result has the same bits; asynchronous pushes, which ran
//! beside each other, each once and in the order of the log.
//!
//! The folder of a log is `ROOT/JOB/NUMBER`: [`folder`] says what is in it.

mod folder;
mod record;
mod recover;
mod saved;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oarlock_io::wal::{Durability, Payload, Wal};
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Incoming, now, spawn};
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::snapshot::Taken;
use super::step_barrier::Event;
use super::{Shared, State};
use crate::request::hello::Hello;
pub(super) use folder::{LogFolder, Owner};

/// Where and how a server keeps its log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// The folder of all logs; that of a server is `JOB/NUMBER` in it.
    pub root: PathBuf,
    /// How much an acknowledged push survives.
    pub durability: Durability,
    /// Bytes of the log after which a snapshot is taken.
    pub limit: u64,
}

impl LogOptions {
    /// In this folder.
    pub fn at(root: impl Into<PathBuf>) -> LogOptions {
        LogOptions { root: root.into(), durability: Durability::Process, limit: 512 << 20 }
    }
}

/// How often a server looks whether there is room on a full disk, and how often it says that there is none.
const ROOM_CHECK: Duration = Duration::from_millis(100);
const ROOM_REMIND: Duration = Duration::from_secs(10);

/// The log that a server writes.
pub(crate) struct ServerLog {
    wal: Wal,
    folder: LogFolder,
    limit: u64,
    deadline: Duration,
    /// The length of the log at which the next snapshot is due.
    due: AtomicU64,
    /// The server stops: it does not wait for room on a disk.
    stopped: AtomicBool,
    /// Why nothing can be appended any more.
    failed: Mutex<Option<Error>>,
}

impl ServerLog {
    fn new(wal: Wal, folder: LogFolder, options: &LogOptions, deadline: Duration) -> ServerLog {
        let due = AtomicU64::new(wal.bytes().max(options.limit));
        let (stopped, failed) = (AtomicBool::new(false), Mutex::default());
        ServerLog { wal, folder, limit: options.limit, deadline, due, stopped, failed }
    }

    /// Appends a request; returns the number of its record.
    pub(crate) fn append_request(&self, hello: &Hello, frame: &Incoming) -> Result<u64> {
        let (head, parts) = (record::request_head(hello), frame.parts());
        let payload = Payload { bytes: parts.payload, check: parts.payload_check };
        self.append(&[&head, &parts.header, parts.front], payload)
    }

    /// Appends an event of the step barrier.
    pub(crate) fn append_event(&self, event: Event) -> Result<()> {
        self.append(&[&record::event(event)], Payload::default()).map(drop)
    }

    /// Waits for room on a full disk, until the deadline. Another error, or the end of the wait, fails the job.
    fn append(&self, parts: &[&[u8]], payload: Payload<'_>) -> Result<u64> {
        if let Some(failed) = self.failed() {
            return Err(failed);
        }
        let (mut until, mut remind) = (None, now());
        loop {
            let error = match self.wal.append(parts, payload) {
                Ok(sequence) => {
                    if until.is_some() {
                        info!(role = "server", "there is room again in {}: training goes on", self.wal.dir().display());
                    }
                    return Ok(sequence);
                }
                Err(e) => e,
            };
            let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let until = *until.get_or_insert_with(|| now() + self.deadline);
            if !full || now() >= until || self.stopped.load(Ordering::Acquire) {
                return Err(self.fail(&error));
            }
            if now() >= remind {
                let left = until.saturating_duration_since(now()).as_secs();
                let dir = self.wal.dir().display();
                warn!(
                    role = "server",
                    "no room in {dir} for the log: training pauses until there is, for at most {left} s"
                );
                remind = now() + ROOM_REMIND;
            }
            std::thread::sleep(ROOM_CHECK);
        }
    }

    /// Returns when a record survives what was asked for.
    pub(crate) fn commit(&self, sequence: u64) -> Result<()> {
        self.wal.commit(sequence).map_err(|e| self.fail(&e))
    }

    #[cold]
    fn fail(&self, e: &io::Error) -> Error {
        let what = format!("the log in {} cannot be written: {e}", self.wal.dir().display());
        let error = Error::new(Kind::Io, what)
            .help("make room there, or name another directory (--server-log, OARLOCK_SERVER_LOG); what was acknowledged is in the log");
        self.failed.lock().get_or_insert(error).clone()
    }

    /// Why nothing can be appended any more.
    pub(crate) fn failed(&self) -> Option<Error> {
        self.failed.lock().clone()
    }

    /// Ends waits for room.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Deletes the log of a job that is done.
    pub(super) fn delete(&self) -> Result<()> {
        self.folder.delete()
    }
}

impl Shared {
    /// Returns when all records so far survive what was asked for.
    pub(crate) fn commit_log(&self) -> Result<()> {
        self.log.get().map_or(Ok(()), |log| log.commit(log.wal.records()))
    }

    /// Takes a snapshot of the server if its log has become long, and lets a thread write it. No push of a step that is not made may
    /// wait: in synchronous training the caller, which has just made one, holds the lock.
    pub(crate) fn snapshot_log_if_due(self: &Arc<Shared>, state: Option<&mut MutexGuard<'_, State>>) {
        let Some(log) = self.log.get() else { return };
        if log.wal.bytes() < log.due.load(Ordering::Relaxed) {
            return;
        }
        let taken = match state {
            Some(state) => self.begin_log_snapshot(log, state),
            None => self.begin_log_snapshot(log, &mut self.state.lock()),
        };
        if let Err(e) = taken {
            log.due.store(log.wal.bytes() + log.limit, Ordering::Relaxed);
            warn!(role = "server", endpoint = %self.updates.endpoint, "no snapshot for the log now: {e}");
        }
    }

    fn begin_log_snapshot(self: &Arc<Shared>, log: &ServerLog, state: &mut MutexGuard<'_, State>) -> Result<()> {
        if state.failed.is_some() || state.step_barrier.is_under_way() || !state.snapshots.begin_of_log() {
            return Ok(());
        }
        log.due.store(log.wal.bytes() + log.limit, Ordering::Relaxed);
        let begun = self.take_for_log(log, state, None).and_then(|(taken, segment)| {
            let shared = self.clone();
            spawn("oarlock-snap", "a snapshot", move || shared.finish_log_snapshot(&taken, segment))
                // The next snapshot must find no fence.
                .inspect_err(|_| self.updates.tables.end_snapshot())
        });
        match begun {
            Ok(thread) => {
                state.snapshots.add_thread(thread);
                Ok(())
            }
            Err(e) => {
                state.snapshots.end_of_log();
                Err(e)
            }
        }
    }

    /// Copies the state at this moment, which falls between pushes; records from now on are in the segment that is returned.
    fn take_for_log(&self, log: &ServerLog, state: &State, segment: Option<u64>) -> Result<(Taken, u64)> {
        let _between_pushes = self.fence.write();
        let bytes = self.save_state(state);
        let segment = match segment {
            Some(segment) => segment,
            None => log.wal.rotate().map_err(|e| Error::new(Kind::Io, format!("no segment can be begun: {e}")))?,
        };
        let store = log.folder.snapshot(segment)?;
        let names: Vec<String> = self.updates.saved_variables().iter().map(ToString::to_string).collect();
        Ok((self.take_variables(store, &names, segment, state.step_barrier.done(), Some(bytes))?, segment))
    }

    /// Writes a snapshot, and removes what it replaces.
    fn finish_log_snapshot(&self, taken: &Taken, segment: u64) {
        let written = taken.save(self);
        self.updates.tables.end_snapshot();
        if let Some(log) = self.log.get() {
            let endpoint = self.updates.endpoint.as_str();
            let before = log.wal.bytes();
            match written.and_then(|()| log.folder.remove_before(segment)).and_then(|()| log.wal.remove_before(segment))
            {
                Ok(()) => {
                    let (now, mib) = (log.wal.bytes(), 1 << 20);
                    log.due.store(now + log.limit, Ordering::Relaxed);
                    info!(
                        role = "server",
                        endpoint,
                        "server {endpoint} wrote a snapshot: its log shrinks from {} to {} MiB",
                        before / mib,
                        now / mib
                    );
                }
                // The segments stay, and with them all that was acknowledged.
                Err(e) => warn!(role = "server", endpoint, "the snapshot for the log of server {endpoint} failed: {e}"),
            }
        }
        self.state.lock().snapshots.end_of_log();
        self.changed.notify_all();
    }
}
