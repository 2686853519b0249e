//! Restores a server from its log: the newest snapshot, then the records behind it, each through the handler of its request.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_exec::Scope;
use oarlock_io::wal::Wal;
use oarlock_io::{View, decode_rows, decode_tensor};
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_net::{Incoming, now};
use oarlock_tensor::{DType, SelectedRows, Tensor, Value};
use tracing::{info, warn};

use super::record::{self, Record};
use super::{LogFolder, LogOptions, ServerLog};
use crate::checkpoint::{HEADER, STEP, table_of_headers, table_of_part};
use crate::protocol::request_of;
use crate::request::hello::Hello;
use crate::request::push::PushBuffers;
use crate::server::reply::Reply;
use crate::server::snapshot::STATE;
use crate::server::step_barrier::Event;
use crate::server::{Call, Shared};

impl LogFolder {
    /// Sets the variables of the newest snapshot in the scope of the server; what was there of the same name is replaced. Returns the
    /// state that goes with them; none if there is nothing to restore.
    pub(in crate::server) fn load_variables(&self, scope: &Scope) -> Result<Option<Vec<u8>>> {
        let Some(segment) = self.segment else { return Ok(None) };
        let store = self.snapshot(segment)?;
        let view = store.view()?;
        let bytes = |name: &str| -> Result<(Vec<u8>, String)> {
            let file = view.open(name)?;
            let origin = file.origin().to_string();
            Ok((file.bytes()?, origin))
        };
        let mut loaded: Vec<(Name, Value)> = Vec::new();
        let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in saved_files(&*view)? {
            match table_of_part(&name) {
                Some(table) => parts.entry(table.to_string()).or_default().push(name),
                None if name == STATE || name == STEP => {}
                None => {
                    let (bytes, origin) = bytes(&name)?;
                    loaded.push((name.as_str().into(), Value::Dense(decode_tensor(&bytes, &origin)?.0)));
                }
            }
        }
        for (table, files) in parts {
            let read = files.iter().map(|name| bytes(name));
            let value = match table_of_headers(&table).is_some() {
                true => Value::Dense(join_headers(read)?),
                false => Value::Rows(join_rows(read)?),
            };
            loaded.push((table.as_str().into(), value));
        }
        // A table without rows has headers only. What a startup program or a load put into it does not count.
        let empty = |name: &Name| Some(Name::from(table_of_headers(name)?));
        let tables: Vec<Name> = loaded.iter().filter_map(|(name, _)| empty(name)).collect();
        for table in
            tables.into_iter().filter(|table| !loaded.iter().any(|(name, _)| name == table)).collect::<Vec<_>>()
        {
            loaded.push((
                table,
                Value::Rows(SelectedRows { rows: Vec::new(), height: 0, value: Tensor::zeros(DType::F32, [0, 1]) }),
            ));
        }
        let (state, _) = bytes(STATE)?;
        oarlock_io::set_all(scope, loaded)?;
        Ok(Some(state))
    }
}

/// The files of a snapshot, all of which must be there.
fn saved_files(view: &dyn View) -> Result<Vec<String>> {
    let files = view.files()?;
    let listed = view.manifest().map(|manifest| manifest.files.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    match listed.iter().find(|name| !files.contains(name)) {
        None => Ok(files),
        Some(missing) => Err(Error::new(Kind::Missing, format!("the snapshot {} lacks {missing}", view.describe()))
            .help("restore the file from a good copy, or start a new job from the last checkpoint")),
    }
}

type ReadFile = Result<(Vec<u8>, String)>;

fn join_rows(files: impl Iterator<Item = ReadFile>) -> Result<SelectedRows> {
    let (mut ids, mut data, mut width) = (Vec::new(), Vec::new(), 1);
    for file in files {
        let (bytes, origin) = file?;
        let (rows, _) = decode_rows(&bytes, &origin)?;
        width = rows.value.dims().matrix(1).1.max(1);
        data.extend_from_slice(rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("{origin} {e}")))?);
        ids.extend_from_slice(&rows.rows);
    }
    let value = Tensor::from_slice([ids.len(), width], &data).map_err(|e| Error::internal(e.to_string()))?;
    Ok(SelectedRows { height: ids.len() as i64, rows: ids, value })
}

fn join_headers(files: impl Iterator<Item = ReadFile>) -> Result<Tensor> {
    let mut lines = Vec::new();
    for file in files {
        let (bytes, origin) = file?;
        let (tensor, _) = decode_tensor(&bytes, &origin)?;
        lines.extend_from_slice(tensor.data::<i64>().map_err(|e| Error::new(Kind::DType, format!("{origin} {e}")))?);
    }
    Tensor::from_slice([lines.len() / HEADER, HEADER], &lines).map_err(|e| Error::internal(e.to_string()))
}

impl Shared {
    /// Begins the log of a new server, or restores a server from its log. The variables are those of the newest snapshot already;
    /// `state` is what goes with them.
    pub(in crate::server) fn open_log(
        self: &Arc<Shared>,
        folder: LogFolder,
        state: Option<&[u8]>,
        options: &LogOptions,
    ) -> Result<()> {
        let deadline = self.options.deadline;
        let set = |log: ServerLog| self.log.set(log).map_err(|_| Error::internal("a server has two logs"));
        match (state, folder.segment) {
            (Some(state), Some(segment)) => {
                let wal = self.replay_log(&folder, state, segment)?;
                set(ServerLog::new(wal, folder, options, deadline))
            }
            _ => {
                let wal = folder.create()?;
                set(ServerLog::new(wal, folder, options, deadline))?;
                self.take_first_snapshot()
            }
        }
    }

    /// A restarted server begins with the values of the first start: what its startup program makes may differ every time.
    fn take_first_snapshot(&self) -> Result<()> {
        let Some(log) = self.log.get() else { return Ok(()) };
        let (taken, _) = self.take_for_log(log, &self.state.lock(), Some(1))?;
        let written = taken.save(self);
        self.updates.tables.end_snapshot();
        written
    }

    fn replay_log(self: &Arc<Shared>, folder: &LogFolder, state: &[u8], segment: u64) -> Result<Wal> {
        let (begun, endpoint) = (now(), self.updates.endpoint.as_str());
        self.load_state(state)?;
        let mut replay = Replay::default();
        let (wal, recovered) =
            Wal::open(folder.path(), &folder.lineage, folder.durability, segment, &mut |_, body| {
                replay.record(self, body)
            })?;
        // Trainers that had joined connect again, or are lost after a while.
        let mut state = self.state.lock();
        let processes = state.step_barrier.processes();
        state.seen = processes.into_iter().map(|process| process.map(|incarnation| (incarnation, now()))).collect();
        let (records, epoch) = (recovered.records, folder.epoch);
        info!(
            role = "server",
            endpoint,
            "server {endpoint} is restored from its log: {records} records behind the last snapshot, {:.1} s; start {epoch} of its history",
            begun.elapsed().as_secs_f64()
        );
        if recovered.cut > 0 {
            let cut = recovered.cut;
            warn!(
                role = "server",
                endpoint, "the last record of the log was not complete: {cut} bytes, never acknowledged, are cut off"
            );
        }
        Ok(wal)
    }
}

/// The memory of requests that are replayed.
#[derive(Default)]
struct Replay {
    frame: Incoming,
    reply: Reply,
    push: PushBuffers,
}

impl Replay {
    fn record(&mut self, shared: &Arc<Shared>, body: &[u8]) -> Result<()> {
        match record::read(body)? {
            Record::Event(Event::Leave { trainer, incarnation }) => shared.depart(trainer as u32, incarnation),
            Record::Event(event) => drop(shared.on_event(&mut shared.state.lock(), event)),
            Record::Request(hello, frame) => self.request(shared, &hello, frame)?,
        }
        Ok(())
    }

    fn request(&mut self, shared: &Arc<Shared>, hello: &Hello, bytes: &[u8]) -> Result<()> {
        self.frame.decode(bytes, "the log")?;
        let kind = self.frame.kind();
        let replay = request_of(kind).and_then(|request| request.replay).ok_or_else(|| {
            Error::new(Kind::Unsupported, format!("a request of kind {kind}, which this release does not log"))
                .help("go on with the release of Oarlock that wrote the log")
        })?;
        self.reply.begin();
        let (frame, reply, push, logged) = (&self.frame, &mut self.reply, &mut self.push, &mut 0);
        let mut call = Call { shared, hello, frame, peer: "the log", reply, push, logged };
        if let Err(e) = replay(&mut call) {
            // It failed when it was first served, too, and its sender got the error.
            warn!(role = "server", "a request of trainer {} in the log fails, as it did before: {e}", hello.trainer);
        }
        Ok(())
    }
}
