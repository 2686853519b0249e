//! Checkpoints of a whole job in one folder.
//!
//! `checkpoint_N/server_I` holds the snapshot of server I, `checkpoint_N/trainer_T` the position of trainer T in its data, and
//! `checkpoint_N/job.json` says which rows of which variable are where. The last is written when all else is there: a checkpoint
//! exists once it does. Since it knows the rows, any number of servers can load it.

use oarlock_exec::Scope;
use oarlock_io::{Store, View, decode_rows, decode_tensor, first_intact, open_store};
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::table::SHARDS;
use oarlock_tensor::{DType, SelectedRows, Tensor, Value};
use serde_json::{Value as Json, json};

use crate::saving::join;
use oarlock_transpile::placement::server_of_id;
use oarlock_transpile::{Part, VarLocations};

const STEM: &str = "checkpoint_";
const JOB: &str = "job.json";

/// The file of a server's folder that tells how many steps were made.
pub(crate) const STEP: &str = "step";

/// The variable in which a server finds how many steps were made before it was started.
pub(crate) const STEP_VAR: &str = "@OARLOCK_STEP@";

/// The file of some rows of a table's variable.
pub(crate) fn part_file(name: &str, group: usize) -> String {
    format!("{}{group:05}", part_stem(name))
}

fn part_stem(name: &str) -> String {
    format!("{name}.part-")
}

/// The variable of a file with some rows of a table.
pub(crate) fn table_of_part(file: &str) -> Option<&str> {
    let (name, group) = file.rsplit_once(".part-")?;
    (group.len() == 5 && group.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

/// The name of the headers of a table, which are no variable: the age and counts of its rows, and of ids that wait for admission. A line
/// of four numbers each: [`ROW`], id, last update, count; [`WAITING`], the same of an id without a row; [`TOSSES`], shard, 0, count;
/// [`SHOWS`], id, the bits of its shows and of its clicks; [`CLOCK`], 0, updates of the table, 0. A line of another kind is one of a later
/// version and says nothing. Checkpoints of before have none, and all rows count as updated once.
pub(crate) fn headers_of(table: &str) -> String {
    format!("{table}{HEADERS}")
}

/// The table whose headers have this name, if it is one of headers.
pub(crate) fn table_of_headers(name: &str) -> Option<&str> {
    name.strip_suffix(HEADERS)
}

const HEADERS: &str = "@HEADERS";

pub(crate) const ROW: i64 = 0;
pub(crate) const WAITING: i64 = 1;
pub(crate) const TOSSES: i64 = 2;
pub(crate) const SHOWS: i64 = 3;
pub(crate) const CLOCK: i64 = 4;

/// The numbers in a line of headers.
pub(crate) const HEADER: usize = 4;

/// The version of `job.json`; the first one did not say it.
const FORMAT: u64 = 1;

/// The folder of one server's part.
pub(crate) fn server_folder(store: &dyn Store, number: u64, server: usize) -> Result<Box<dyn Store>> {
    store.folder(&format!("{STEM}{number}"))?.folder(&format!("server_{server}"))
}

/// The checkpoints of a job.
pub struct JobCheckpoints {
    store: Box<dyn Store>,
}

/// A complete checkpoint: what `job.json` says.
pub struct JobCheckpoint {
    /// Its number.
    pub number: u64,
    /// Steps of synchronous training that were made.
    pub step: u64,
    /// How many servers saved it.
    pub servers: usize,
    /// How many trainers.
    pub trainers: usize,
    kept: Vec<SavedVar>,
    store: Box<dyn Store>,
}

/// Where a variable was.
struct SavedVar {
    name: String,
    hashed: bool,
    parts: Vec<SavedPart>,
}

struct SavedPart {
    server: usize,
    name: String,
    first_row: usize,
    rows: Option<usize>,
}

impl JobCheckpoints {
    /// Of a folder: a path or a URL.
    pub fn at(dir: &str) -> Result<JobCheckpoints> {
        Ok(JobCheckpoints { store: open_store(dir)? })
    }

    /// Of a store.
    pub fn of(store: Box<dyn Store>) -> JobCheckpoints {
        JobCheckpoints { store }
    }

    /// The numbers of all checkpoints, complete or not, ascending.
    fn numbers(&self) -> Result<Vec<u64>> {
        let folders = self.store.folders()?;
        let mut numbers: Vec<u64> = folders.iter().filter_map(|f| f.strip_prefix(STEM)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The number for the next checkpoint.
    pub fn next_number(&self) -> Result<u64> {
        Ok(self.numbers()?.last().map_or(0, |last| last + 1))
    }

    fn folder(&self, number: u64) -> Result<Box<dyn Store>> {
        self.store.folder(&format!("{STEM}{number}"))
    }

    /// The newest complete checkpoint.
    pub fn latest(&self) -> Result<Option<JobCheckpoint>> {
        for number in self.numbers()?.into_iter().rev() {
            if let Some(found) = self.open(number)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The newest complete checkpoint whose files are as they were saved, those of all servers and trainers: every process of a job
    /// reads them all, so that all choose the same one. `warn` gets the damaged ones after it.
    pub fn latest_intact(&self, warn: &mut dyn FnMut(String)) -> Result<Option<JobCheckpoint>> {
        let open = |number| match self.open(number)? {
            Some(found) => found.verify().map(|()| Some(found)),
            None => Ok(None),
        };
        first_intact(self.numbers()?.into_iter().rev(), &self.store.describe(), open, warn)
    }

    /// All complete checkpoints, the oldest first.
    pub fn list(&self) -> Result<Vec<JobCheckpoint>> {
        let opened = self.numbers()?.into_iter().map(|number| self.open(number));
        Ok(opened.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// A checkpoint, if it is complete.
    pub fn open(&self, number: u64) -> Result<Option<JobCheckpoint>> {
        let store = self.folder(number)?;
        let view = store.view()?;
        if !view.manifest().is_some_and(|m| m.files.contains_key(JOB)) {
            return Ok(None);
        }
        let file = view.open(JOB)?;
        let origin = file.origin().to_string();
        let job: Option<Json> = serde_json::from_slice(&file.bytes()?).ok();
        if let Some(format) = job.as_ref().and_then(|job| job["format"].as_u64()).filter(|format| *format > FORMAT) {
            let what = format!("{origin} is of format {format}, and this version knows those up to {FORMAT}");
            return Err(
                Error::new(Kind::Unsupported, what).help("load it with the version that wrote it, or a newer one")
            );
        }
        let job = job.as_ref().and_then(parse);
        drop(view);
        match job {
            Some((step, servers, trainers, kept)) => {
                Ok(Some(JobCheckpoint { number, step, servers, trainers, kept, store }))
            }
            None => Err(Error::new(Kind::Format, format!("{origin} does not say what the checkpoint holds"))),
        }
    }

    /// Completes a checkpoint that all servers have saved, then deletes all but the newest `keep`. `kept` is where servers keep
    /// what, `trainers` what each trainer needs to go on.
    pub fn complete(
        &self,
        number: u64,
        kept: &[VarLocations],
        servers: usize,
        trainers: &[Vec<u8>],
        keep: usize,
    ) -> Result<()> {
        let step = read_step(&*server_folder(&*self.store, number, 0)?.view()?)?;
        let text = format!("{:#}\n", describe(step, servers, trainers.len(), kept));
        self.write(number, &text, trainers)?;
        let complete: Vec<u64> = self.list()?.iter().map(|c| c.number).collect();
        let oldest = complete.iter().rev().nth(keep.max(1) - 1).copied().unwrap_or(0);
        for old in self.numbers()?.into_iter().filter(|n| *n < oldest) {
            self.store.remove_folder(&format!("{STEM}{old}"))?;
        }
        Ok(())
    }

    fn write(&self, number: u64, job: &str, trainers: &[Vec<u8>]) -> Result<()> {
        let mut staging = self.folder(number)?.begin()?;
        for (trainer, bytes) in trainers.iter().enumerate() {
            staging.file(&format!("trainer_{trainer}"), &[], &mut |out| out.write_all(bytes))?;
        }
        staging.file(JOB, &[], &mut |out| out.write_all(job.as_bytes()))?;
        staging.commit()
    }

    /// Deletes all checkpoints, the oldest first.
    pub fn clear(&self) -> Result<()> {
        self.numbers()?.iter().try_for_each(|number| self.store.remove_folder(&format!("{STEM}{number}")))
    }

    /// Rewrites a checkpoint for another number of servers, as the next one. Every server can load any checkpoint; one that was
    /// written for as many servers is read faster, and by each server only in part.
    pub fn reshard(&self, from: &JobCheckpoint, servers: usize) -> Result<u64> {
        let number = self.next_number()?;
        let mut kept = Vec::new();
        let mut staged: Vec<Vec<(String, Value)>> = (0..servers).map(|_| Vec::new()).collect();
        for then in &from.kept {
            kept.push(from.deal(then, servers, &mut staged)?);
        }
        for (server, values) in staged.iter().enumerate() {
            let mut staging = server_folder(&*self.store, number, server)?.begin()?;
            for (file, value) in values {
                staging.file(file, &[], &mut |out| match value {
                    Value::Dense(tensor) => oarlock_io::write_tensor(tensor, out),
                    Value::Rows(rows) => oarlock_io::write_rows(rows, out),
                    _ => Ok(()),
                })?;
            }
            let step = from.step.to_string();
            staging.file(STEP, &[], &mut |out| out.write_all(step.as_bytes()))?;
            staging.commit()?;
        }
        let trainers = (0..from.trainers).map(|t| from.trainer(t)).collect::<Result<Vec<_>>>()?;
        let text = format!("{:#}\n", job_json(from.step, servers, from.trainers, &kept));
        self.write(number, &text, &trainers)?;
        Ok(number)
    }
}

impl JobCheckpoint {
    fn view(&self, server: usize) -> Result<Box<dyn View>> {
        self.store.folder(&format!("server_{server}"))?.view()
    }

    /// The position that a trainer saved.
    pub fn trainer(&self, trainer: usize) -> Result<Vec<u8>> {
        self.store.view()?.open(&format!("trainer_{trainer}"))?.bytes()
    }

    /// Reads every file and compares its checksum.
    pub fn verify(&self) -> Result<()> {
        let verify = |view: Box<dyn View>| {
            let Some(manifest) = view.manifest() else {
                return Err(Error::new(Kind::Missing, format!("{} has no list of its files", view.describe())));
            };
            manifest.files.keys().try_for_each(|name| view.open(name)?.verify())
        };
        verify(self.store.view()?)?;
        (0..self.servers).try_for_each(|server| verify(self.view(server)?))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> Result<u64> {
        let size =
            |view: Box<dyn View>| view.manifest().map_or(0, |m| m.files.values().map(|seal| seal.size).sum::<u64>());
        let mut all = size(self.store.view()?);
        for server in 0..self.servers {
            all += size(self.view(server)?);
        }
        Ok(all)
    }

    /// Sets the parts of server `server` of `servers` in its scope, before it starts. All are set, or none.
    pub fn load(&self, kept: &[VarLocations], server: usize, servers: usize, scope: &Scope) -> Result<()> {
        let mut loaded: Vec<(Name, Value)> = Vec::new();
        for kept in kept {
            for part in kept.parts.iter().filter(|part| part.server == server) {
                let then = self.kept.iter().find(|then| kept.var.name.as_str() == then.name).ok_or_else(|| {
                    let what = format!("checkpoint {} does not hold `{}`", self.number, kept.var.name);
                    Error::new(Kind::Missing, what).help("go on with the program that the checkpoint was saved from")
                })?;
                loaded.push((part.name.clone(), self.read(then, kept, part, servers)?));
                if kept.hashed
                    && let Some(headers) = self.headers(then, server, servers)?
                {
                    loaded.push((headers_of(&part.name).into(), Value::Dense(headers)));
                }
            }
        }
        let step = Tensor::from_slice([1], &[self.step as i64]).map_err(|e| Error::internal(e.to_string()))?;
        loaded.push((STEP_VAR.into(), Value::Dense(step)));
        oarlock_io::set_all(scope, loaded)?;
        Ok(())
    }

    fn read(&self, then: &SavedVar, kept: &VarLocations, part: &Part, servers: usize) -> Result<Value> {
        if then.hashed != kept.hashed {
            let what =
                format!("`{}` was {} when it was saved", then.name, if then.hashed { "hashed" } else { "not hashed" });
            return Err(Error::new(Kind::Argument, what).help("set is_distributed as it was"));
        }
        if kept.hashed {
            return self.hashed(then, |id| server_of_id(id, servers) == part.server).map(Value::Rows);
        }
        match part.rows {
            None => self.dense(&then.parts[0]).map(Value::Dense),
            Some(rows) => self.rows(then, part.first_row, rows).map(Value::Dense),
        }
    }

    fn dense(&self, part: &SavedPart) -> Result<Tensor> {
        let file = self.view(part.server)?.open(&part.name)?;
        let origin = file.origin().to_string();
        Ok(decode_tensor(&file.bytes()?, &origin)?.0)
    }

    /// Rows of a variable, out of the parts that have some of them.
    fn rows(&self, then: &SavedVar, first: usize, rows: usize) -> Result<Tensor> {
        let mut pieces = Vec::new();
        for part in &then.parts {
            let Some(count) = part.rows else { continue };
            let (from, to) = (first.max(part.first_row), (first + rows).min(part.first_row + count));
            if from >= to {
                continue;
            }
            let tensor = self.dense(part)?;
            let width = tensor.bytes().len().checked_div(tensor.rows()).unwrap_or(0);
            let mut piece = Tensor::zeros(tensor.dtype(), tensor.dims().with_rows(to - from));
            let at = (from - part.first_row) * width;
            let bytes = tensor.bytes().get(at..at + (to - from) * width);
            let Some(bytes) = bytes else {
                let what = format!("`{}` of server {} has fewer rows than job.json says", part.name, part.server);
                return Err(Error::new(Kind::Format, what));
            };
            piece.bytes_mut().copy_from_slice(bytes);
            pieces.push(Value::Dense(piece));
        }
        let whole = join(&then.name.as_str().into(), pieces)?;
        if whole.rows() != rows {
            let what = format!(
                "checkpoint {} holds {} of the {rows} rows from {first} on of `{}`",
                self.number,
                whole.rows(),
                then.name
            );
            return Err(Error::new(Kind::Shape, what).help("go on with the program that the checkpoint was saved from"));
        }
        Ok(whole)
    }

    /// The rows of a table whose id is wanted.
    fn hashed(&self, then: &SavedVar, wanted: impl Fn(i64) -> bool) -> Result<SelectedRows> {
        let (mut ids, mut data, mut width) = (Vec::new(), Vec::new(), 1);
        for part in &then.parts {
            let view = self.view(part.server)?;
            let stem = part_stem(&part.name);
            for name in view.files()?.iter().filter(|name| name.starts_with(&stem)) {
                let file = view.open(name)?;
                let origin = file.origin().to_string();
                let (rows, _) = decode_rows(&file.bytes()?, &origin)?;
                width = rows.value.dims().matrix(1).1.max(1);
                let values = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("{origin} {e}")))?;
                for (id, row) in rows.rows.iter().zip(values.chunks(width)).filter(|(id, _)| wanted(**id)) {
                    ids.push(*id);
                    data.extend_from_slice(row);
                }
            }
        }
        let value = Tensor::from_slice([ids.len(), width], &data).map_err(|e| Error::internal(e.to_string()))?;
        Ok(SelectedRows { height: ids.len() as i64, rows: ids, value })
    }

    /// The headers of the rows of a table that one of the servers gets; none if the checkpoint has none.
    fn headers(&self, then: &SavedVar, server: usize, servers: usize) -> Result<Option<Tensor>> {
        let (mut lines, mut found) = (Vec::new(), false);
        for part in &then.parts {
            let view = self.view(part.server)?;
            let stem = part_stem(&headers_of(&part.name));
            for name in view.files()?.iter().filter(|name| name.starts_with(&stem)) {
                let file = view.open(name)?;
                let origin = file.origin().to_string();
                let (tensor, _) = decode_tensor(&file.bytes()?, &origin)?;
                let data = tensor.data::<i64>().map_err(|e| Error::new(Kind::DType, format!("{origin} {e}")))?;
                let owner = |line: &&[i64]| match line[0] {
                    CLOCK => true,
                    TOSSES => usize::try_from(line[1]).is_ok_and(|shard| shard * servers / SHARDS == server),
                    _ => server_of_id(line[1], servers) == server,
                };
                lines.extend(data.chunks_exact(HEADER).filter(owner).flatten().copied());
                found = true;
            }
        }
        let tensor = Tensor::from_slice([lines.len() / HEADER, HEADER], &lines);
        Ok(Some(tensor.map_err(|e| Error::internal(e.to_string()))?).filter(|_| found))
    }

    /// Distributes a variable over `servers` servers: equal runs of rows, or rows by their ids.
    fn deal(&self, then: &SavedVar, servers: usize, staged: &mut [Vec<(String, Value)>]) -> Result<SavedVar> {
        let mut parts = Vec::new();
        if then.hashed {
            for (server, values) in staged.iter_mut().enumerate() {
                let rows = self.hashed(then, |id| server_of_id(id, servers) == server)?;
                values.push((part_file(&then.name, 0), Value::Rows(rows)));
                if let Some(headers) = self.headers(then, server, servers)? {
                    values.push((part_file(&headers_of(&then.name), 0), Value::Dense(headers)));
                }
                parts.push(SavedPart { server, name: then.name.clone(), first_row: 0, rows: None });
            }
        } else if then.parts.iter().any(|part| part.rows.is_none()) {
            for (server, values) in staged.iter_mut().enumerate() {
                values.push((then.name.clone(), Value::Dense(self.dense(&then.parts[0])?)));
                parts.push(SavedPart { server, name: then.name.clone(), first_row: 0, rows: None });
            }
        } else {
            let rows: usize = then.parts.iter().filter_map(|part| part.rows).sum();
            for (server, values) in staged.iter_mut().enumerate() {
                let (first, end) = (rows * server / servers, rows * (server + 1) / servers);
                if end > first {
                    values.push((then.name.clone(), Value::Dense(self.rows(then, first, end - first)?)));
                    parts.push(SavedPart {
                        server,
                        name: then.name.clone(),
                        first_row: first,
                        rows: Some(end - first),
                    });
                }
            }
        }
        Ok(SavedVar { name: then.name.clone(), hashed: then.hashed, parts })
    }
}

/// How many steps a server had made when it was started.
pub(crate) fn steps_before(scope: &Scope) -> u64 {
    scope.tensor(STEP_VAR).and_then(|t| t.data::<i64>().ok()?.first().copied()).map_or(0, |step| step.max(0) as u64)
}

fn read_step(view: &dyn View) -> Result<u64> {
    let file = view.open(STEP)?;
    let origin = file.origin().to_string();
    let text = file.bytes()?;
    let step = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
    step.ok_or_else(|| Error::new(Kind::Format, format!("{origin} does not hold a number of steps")))
}

fn describe(step: u64, servers: usize, trainers: usize, kept: &[VarLocations]) -> Json {
    let part = |part: &Part| SavedPart {
        server: part.server,
        name: part.name.to_string(),
        first_row: part.first_row,
        rows: part.rows,
    };
    let then = |kept: &VarLocations| SavedVar {
        name: kept.var.name.to_string(),
        hashed: kept.hashed,
        parts: kept.parts.iter().map(part).collect(),
    };
    job_json(step, servers, trainers, &kept.iter().map(then).collect::<Vec<_>>())
}

fn job_json(step: u64, servers: usize, trainers: usize, kept: &[SavedVar]) -> Json {
    let part = |part: &SavedPart| json!({"server": part.server, "name": part.name, "first_row": part.first_row, "rows": part.rows});
    let kept: Vec<Json> = kept
        .iter()
        .map(|kept| {
            let parts: Vec<Json> = kept.parts.iter().map(part).collect();
            json!({"name": kept.name, "hashed": kept.hashed, "parts": parts})
        })
        .collect();
    json!({"format": FORMAT, "step": step, "servers": servers, "trainers": trainers, "variables": kept})
}

type Job = (u64, usize, usize, Vec<SavedVar>);

fn parse(job: &Json) -> Option<Job> {
    let number = |json: &Json| json.as_u64().and_then(|n| usize::try_from(n).ok());
    let part = |part: &Json| {
        let rows = if part["rows"].is_null() { None } else { Some(number(&part["rows"])?) };
        let name = part["name"].as_str()?.to_string();
        Some(SavedPart { server: number(&part["server"])?, name, first_row: number(&part["first_row"])?, rows })
    };
    let kept = |kept: &Json| {
        let parts = kept["parts"].as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?;
        let name = kept["name"].as_str()?.to_string();
        (!parts.is_empty()).then_some(SavedVar { name, hashed: kept["hashed"].as_bool()?, parts })
    };
    let all = job["variables"].as_array()?.iter().map(kept).collect::<Option<Vec<_>>>()?;
    Some((job["step"].as_u64()?, number(&job["servers"])?, number(&job["trainers"])?, all))
}

/// Bytes as a tensor, for an all-gather.
pub(crate) fn as_tensor(bytes: &[u8]) -> Tensor {
    let mut tensor = Tensor::zeros(DType::U8, [bytes.len()]);
    tensor.bytes_mut().copy_from_slice(bytes);
    tensor
}

#[cfg(test)]
mod tests {
    use oarlock_io::Local;
    use oarlock_ir::{Shape, Var, VarType};

    use super::*;

    /// A folder that goes away with the test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let dir = std::env::temp_dir().join(format!("oarlock-job-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Folder(dir)
        }

        fn checkpoints(&self) -> JobCheckpoints {
            JobCheckpoints::of(Box::new(Local::at(&self.0)))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    /// A variable of six rows that two servers keep four and two rows of, a table, and a rate that both have.
    fn var_locations(first: usize) -> Vec<VarLocations> {
        let var = |name: &str, dims: &[i64]| Var::new(name, VarType::tensor(DType::F32, Shape::from_i64(dims)));
        let part = |server: usize, name: &str, first_row, rows| {
            let endpoint = format!("s{server}:1");
            Part { server, endpoint, name: name.into(), first_row, rows }
        };
        let each = |name: &str| vec![part(0, name, 0, None), part(1, name, 0, None)];
        vec![
            VarLocations {
                var: var("w", &[6, 1]),
                parts: vec![part(0, "w.block0", 0, Some(first)), part(1, "w.block1", first, Some(6 - first))],
                hashed: false,
                updated: true,
            },
            VarLocations { var: var("table", &[100, 1]), parts: each("table"), hashed: true, updated: true },
            VarLocations { var: var("rate", &[1]), parts: each("rate"), hashed: false, updated: false },
        ]
    }

    fn save(checkpoints: &JobCheckpoints, number: u64) {
        for server in 0..2 {
            let mut staging = server_folder(&*checkpoints.store, number, server).unwrap().begin().unwrap();
            let rows: Vec<f32> = if server == 0 { vec![0.0, 1.0, 2.0, 3.0] } else { vec![4.0, 5.0] };
            let w = Tensor::from_slice([rows.len(), 1], &rows).unwrap();
            let rate = Tensor::from_slice([1], &[0.5_f32]).unwrap();
            let ids: Vec<i64> = (0..20).filter(|id| server_of_id(*id, 2) == server).collect();
            let values: Vec<f32> = ids.iter().map(|id| *id as f32).collect();
            let value = Tensor::from_slice([ids.len(), 1], &values).unwrap();
            let table = SelectedRows { height: 20, rows: ids, value };
            staging.file(&format!("w.block{server}"), &[], &mut |out| oarlock_io::write_tensor(&w, out)).unwrap();
            staging.file("rate", &[], &mut |out| oarlock_io::write_tensor(&rate, out)).unwrap();
            staging.file(&part_file("table", 3), &[], &mut |out| oarlock_io::write_rows(&table, out)).unwrap();
            staging.file(STEP, &[], &mut |out| out.write_all(b"7")).unwrap();
            staging.commit().unwrap();
        }
    }

    fn numbers(scope: &Scope, name: &str) -> Vec<f64> {
        scope.tensor(name).unwrap().to_f64()
    }

    #[test]
    fn a_checkpoint_exists_once_it_is_complete() {
        let folder = Folder::new("complete");
        let checkpoints = folder.checkpoints();
        save(&checkpoints, 0);
        assert!(checkpoints.latest().unwrap().is_none());
        checkpoints.complete(0, &var_locations(4), 2, &[b"here".to_vec(), Vec::new()], 1).unwrap();
        let found = checkpoints.latest().unwrap().unwrap();
        assert_eq!((found.number, found.step, found.servers, found.trainers), (0, 7, 2, 2));
        assert_eq!(found.trainer(0).unwrap(), b"here");
        found.verify().unwrap();
        // The next one replaces it; one that was never completed does not matter.
        save(&checkpoints, 1);
        save(&checkpoints, 2);
        checkpoints.complete(2, &var_locations(4), 2, &[Vec::new()], 1).unwrap();
        assert_eq!(checkpoints.list().unwrap().iter().map(|c| c.number).collect::<Vec<_>>(), [2]);
        assert_eq!(checkpoints.next_number().unwrap(), 3);
    }

    #[test]
    fn any_number_of_servers_loads_it() {
        let folder = Folder::new("load");
        let checkpoints = folder.checkpoints();
        save(&checkpoints, 0);
        checkpoints.complete(0, &var_locations(4), 2, &[Vec::new()], 1).unwrap();
        let three = checkpoints.reshard(&checkpoints.latest().unwrap().unwrap(), 3).unwrap();
        for number in [0, three] {
            let found = checkpoints.open(number).unwrap().unwrap();
            let mut ids = Vec::new();
            for server in 0..2 {
                let scope = Scope::new();
                // Partitioned in another way than it was saved.
                found.load(&var_locations(1), server, 2, &scope).unwrap();
                let expected: &[f64] = if server == 0 { &[0.0] } else { &[1.0, 2.0, 3.0, 4.0, 5.0] };
                assert_eq!(numbers(&scope, &format!("w.block{server}")), expected);
                assert_eq!((numbers(&scope, "rate"), steps_before(&scope)), (vec![0.5], 7));
                let var = scope.find("table").unwrap();
                let rows = var.read();
                let rows = rows.rows().unwrap();
                assert!(rows.rows.iter().all(|id| server_of_id(*id, 2) == server));
                assert!(rows.rows.iter().zip(rows.value.to_f64()).all(|(id, value)| *id as f64 == value));
                ids.extend(rows.rows.iter().copied());
            }
            ids.sort_unstable();
            assert_eq!(ids, (0..20).collect::<Vec<i64>>());
        }
    }

    #[test]
    fn one_of_a_later_version_says_so() {
        let folder = Folder::new("later");
        let checkpoints = folder.checkpoints();
        save(&checkpoints, 0);
        let text = job_json(7, 2, 0, &[]).to_string().replace("\"format\":1", "\"format\":99");
        checkpoints.write(0, &text, &[]).unwrap();
        let what = checkpoints.latest().map(drop).unwrap_err().report().what.clone();
        assert!(what.ends_with("job.json is of format 99, and this version knows those up to 1"), "{what}");
    }

    #[test]
    fn missing_variable_of_a_checkpoint_is_named() {
        let folder = Folder::new("lacks");
        let checkpoints = folder.checkpoints();
        save(&checkpoints, 0);
        checkpoints.complete(0, &var_locations(4)[1..], 2, &[Vec::new()], 1).unwrap();
        let error = checkpoints.latest().unwrap().unwrap().load(&var_locations(4), 0, 2, &Scope::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[missing]: checkpoint 0 does not hold `w`\n  help: go on with the program that the checkpoint was saved from"
        );
    }
}
