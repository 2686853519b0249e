//! Snapshots of a server: its variables and tables at one moment, written to a checkpoint while training goes on.
//!
//! The moment falls between steps, or between pushes in asynchronous training: then dense variables are copied and tables set a
//! snapshot fence (copy-on-write, see `oarlock_tensor::table`). A thread of its own writes the snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_io::{Staging, Store, open_store, write_rows, write_tensor};
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::{Tensor, Value};
use tracing::warn;

use super::Shared;
use super::tables::SnapshotTable;
use crate::checkpoint::{part_file, server_folder};
use crate::request::save_table::SaveTable;
use crate::request::snapshot::Snapshot;
use oarlock_net::now;
use oarlock_net::spawn;

/// How long a trainer that waits for a snapshot waits for a reply that it is not written yet.
const REPLY_AFTER: Duration = Duration::from_secs(3);

/// The file of a snapshot for a server's log that has the state that is no variable.
pub(super) const STATE: &str = "@OARLOCK_STATE@";

/// The snapshots of a server, by folder and number.
#[derive(Default)]
pub(super) struct Snapshots {
    known: BTreeMap<(String, u64), Status>,
    threads: Vec<JoinHandle<()>>,
    /// One for the log is being written.
    of_log: bool,
}

#[derive(Clone)]
enum Status {
    Writing,
    Saved,
    Failed(Error),
}

impl Snapshots {
    fn is_writing(&self) -> bool {
        self.of_log || self.known.values().any(|status| matches!(status, Status::Writing))
    }

    /// Begins a snapshot for the log; false if another one is being written.
    pub(super) fn begin_of_log(&mut self) -> bool {
        let begins = !self.is_writing();
        self.of_log |= begins;
        begins
    }

    /// The snapshot for the log is written, or failed.
    pub(super) fn end_of_log(&mut self) {
        self.of_log = false;
    }

    /// Adds a thread that writes; those that have ended are let go.
    pub(super) fn add_thread(&mut self, thread: JoinHandle<()>) {
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread);
    }

    /// The threads that write.
    pub(super) fn take_threads(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.threads)
    }
}

impl Shared {
    /// Takes a snapshot unless it was taken already. True once it is written.
    pub(crate) fn snapshot(self: &Arc<Shared>, request: &Snapshot) -> Result<bool> {
        let key = (request.dir.clone(), request.number);
        let mut state = self.state.lock();
        if request.wait && !state.snapshots.known.contains_key(&key) && self.identity.epoch > 1 {
            return self.saved_before_restart(request).map(|()| true);
        }
        if !state.snapshots.known.contains_key(&key) {
            let deadline = now() + self.options.deadline;
            // Tables have one fence at a time.
            while state.snapshots.is_writing() {
                if self.changed.wait_until(&mut state, deadline).timed_out() {
                    let what = format!("server {} still writes the last checkpoint", self.updates.endpoint);
                    return Err(Error::new(Kind::Timeout, what).help("save more rarely, or to a faster disk"));
                }
            }
            // No step is made while the state is locked; asynchronous pushes stop at the fence.
            let taken = {
                let _between_pushes = self.fence.write();
                self.take(request, state.step_barrier.done())?
            };
            let (shared, saved) = (self.clone(), key.clone());
            let thread = spawn("oarlock-snap", "a checkpoint", move || shared.write(taken, &saved))
                // The next snapshot must find no fence.
                .inspect_err(|_| self.updates.tables.end_snapshot())?;
            // The thread cannot set its status before the state is unlocked.
            state.snapshots.known.insert(key.clone(), Status::Writing);
            state.snapshots.add_thread(thread);
        }
        let until = now() + REPLY_AFTER;
        loop {
            match state.snapshots.known.get(&key) {
                Some(Status::Saved) | None => return Ok(true),
                Some(Status::Failed(error)) => return Err(error.clone()),
                Some(Status::Writing) if !request.wait => return Ok(false),
                Some(Status::Writing) => {}
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Ok(false);
            }
        }
    }

    /// Saves the rows of one table to one file.
    pub(crate) fn save_table(&self, save: &SaveTable) -> Result<()> {
        if !self.updates.tables.has_value(&save.table) {
            let what = format!("server {} has no table `{}`", self.updates.endpoint, save.table);
            return Err(Error::new(Kind::Missing, what).help("lookup_table names a table with is_distributed=True"));
        }
        let mut rows = Value::Empty;
        self.updates.tables.copy(&save.table, &mut rows)?;
        let mut staging = open_store(&save.dir)?.begin()?;
        stage_as(&mut *staging, &save.file, &rows)?;
        staging.commit()
    }

    /// A snapshot was begun before this server was restarted: it is there, or it cannot be taken of the same moment again.
    #[cold]
    fn saved_before_restart(&self, request: &Snapshot) -> Result<()> {
        let store = server_folder(&*open_store(&request.dir)?, request.number, request.server as usize)?;
        if store.view().is_ok_and(|view| view.has(crate::checkpoint::STEP)) {
            return Ok(());
        }
        let what =
            format!("server {} was restarted while it wrote checkpoint {}", self.updates.endpoint, request.number);
        Err(Error::new(Kind::Missing, what).help("save another checkpoint; training goes on, and nothing is lost"))
    }

    fn take(&self, request: &Snapshot, step: u64) -> Result<Taken> {
        let store = server_folder(&*open_store(&request.dir)?, request.number, request.server as usize)?;
        self.take_variables(store, &request.names, request.number, step, None)
    }

    /// Copies dense variables, and sets the snapshot fence of tables. `state` goes with a snapshot for the log, which has of all
    /// variables those that are tensors.
    pub(super) fn take_variables(
        &self,
        store: Box<dyn Store>,
        names: &[String],
        number: u64,
        step: u64,
        state: Option<Vec<u8>>,
    ) -> Result<Taken> {
        let mut dense = Vec::new();
        for name in names.iter().filter(|name| !self.updates.tables.has_value(name)) {
            let mut value = Value::Empty;
            if state.is_some()
                && !self.updates.scope.find(name).is_some_and(|var| matches!(&*var.read(), Value::Dense(_)))
            {
                continue;
            }
            self.copy(name, &mut value)?;
            match value {
                Value::Dense(tensor) => dense.push((Name::from(name.as_str()), tensor)),
                other => return Err(Error::new(Kind::Unsupported, format!("`{name}` is {}", other.kind()))),
            }
        }
        let tables = self.updates.tables.begin_snapshot(number)?;
        Ok(Taken { store, dense, tables, step, state })
    }

    fn write(&self, taken: Taken, key: &(String, u64)) {
        let written = taken.save(self);
        self.updates.tables.end_snapshot();
        let status = match written {
            Ok(()) => Status::Saved,
            Err(error) => {
                let error = error.note(format!("in checkpoint {} of server {}", key.1, self.updates.endpoint));
                warn!(role = "server", endpoint = %self.updates.endpoint, "{error}");
                Status::Failed(error)
            }
        };
        self.state.lock().snapshots.known.insert(key.clone(), status);
        self.changed.notify_all();
    }
}

/// The values of a snapshot.
pub(super) struct Taken {
    store: Box<dyn Store>,
    dense: Vec<(Name, Tensor)>,
    tables: Vec<SnapshotTable>,
    step: u64,
    /// The state that is no variable, for the log.
    state: Option<Vec<u8>>,
}

impl Taken {
    pub(super) fn save(&self, shared: &Shared) -> Result<()> {
        let mut staging = self.store.begin()?;
        for (name, tensor) in &self.dense {
            staging.file(name, &[], &mut |out| write_tensor(tensor, out))?;
        }
        for table in &self.tables {
            shared.updates.tables.read_snapshot(table, &mut |group, values| stage(&mut *staging, group, values))?;
        }
        let step = self.step.to_string();
        staging.file(crate::checkpoint::STEP, &[], &mut |out| out.write_all(step.as_bytes()))?;
        if let Some(state) = &self.state {
            staging.file(STATE, &[], &mut |out| out.write_all(state))?;
        }
        staging.commit()
    }
}

fn stage(staging: &mut dyn Staging, group: usize, values: &[(Name, Value)]) -> Result<()> {
    values.iter().try_for_each(|(name, value)| stage_as(staging, &part_file(name, group), value))
}

fn stage_as(staging: &mut dyn Staging, file: &str, value: &Value) -> Result<()> {
    match value {
        Value::Rows(rows) => staging.file(file, &[], &mut |out| write_rows(rows, out)),
        Value::Dense(headers) => staging.file(file, &[], &mut |out| write_tensor(headers, out)),
        other => Err(Error::internal(format!("{} among the rows of a table", other.kind()))),
    }
}
