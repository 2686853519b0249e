//! Saves and loads the variables of servers as files of whole variables: the same that training on one machine writes.
//!
//! A trainer fetches the parts and joins them; a server takes its parts out of whole variables. Hashed tables go to
//! their files some rows after the other. Must not know how trainers and servers work together in a step.

use oarlock_exec::Scope;
use oarlock_io::{
    InferenceModel, ModelFiles, ModelTables, ParamFiles, Staging, Store, TableWriter, View, declare_rows, is_saved,
    persistables, read_table, read_vars, stage_vars,
};
use oarlock_ir::{Error, Kind, Name, Program, Result, Var};
use oarlock_tensor::{SelectedRows, Tensor, Value};

use crate::client::{Client, ReceivedVars};
use oarlock_transpile::placement::server_of_id;
use oarlock_transpile::{Part, VarLocations};

/// A trainer that saves the variables of a job.
pub struct Saver<'a> {
    /// The variables of servers that this trainer has to fetch.
    pub away: &'a [VarLocations],
    /// The connection to them.
    pub client: &'a Client,
    /// The trainer's number.
    pub trainer: usize,
    /// Where everything else is.
    pub scope: &'a Scope,
}

impl Saver<'_> {
    /// Saves variables of the program for one machine: one file each, or all in the file `combined`.
    pub fn save_vars(&self, store: &dyn Store, combined: Option<&str>, vars: &[&Var]) -> Result<()> {
        let mut staging = store.begin()?;
        self.stage(store, &mut *staging, combined, vars, &self.scope.child())?;
        staging.commit()
    }

    /// Saves a network that predicts, with its parameters.
    pub fn save_model(&self, store: &dyn Store, files: &ModelFiles, model: &InferenceModel) -> Result<()> {
        let mut program = model.program.clone();
        let whole = match files.params {
            ParamFiles::Nowhere => self.scope.child(),
            _ => self.dense_tables(&mut program, files.tables)?,
        };
        let network = program.to_bytes();
        let mut staging = store.begin()?;
        staging.file(&files.model, &[], &mut |out| out.write_all(&network))?;
        let combined = match &files.params {
            ParamFiles::Nowhere => return staging.commit(),
            ParamFiles::Separate => None,
            ParamFiles::Combined(file) => Some(file.as_str()),
        };
        self.stage(store, &mut *staging, combined, &persistables(&program), &whole)?;
        staging.commit()
    }

    /// Fetches the hashed tables of a network that are stored densely into a scope, and declares the others as rows.
    fn dense_tables(&self, program: &mut Program, tables: ModelTables) -> Result<Scope> {
        let whole = self.scope.child();
        for kept in self.away.iter().filter(|kept| kept.hashed) {
            let name = &kept.var.name;
            if program.global().var(name).is_none() {
                continue;
            }
            match tables.dense(&kept.var, &mut |take| self.fetch_table(kept, take))? {
                Some(tensor) => whole.set(name, Value::Dense(tensor)),
                None => declare_rows(program, name),
            }
        }
        Ok(whole)
    }

    fn fetch_table(&self, kept: &VarLocations, take: &mut dyn FnMut(&SelectedRows) -> Result<()>) -> Result<()> {
        let fetch = |part: &Part| self.client.fetch_rows(self.trainer as u32, &part.endpoint, &part.name, take);
        kept.parts.iter().try_for_each(fetch)
    }

    /// Stages variables. Hashed tables that `whole` holds are tensors already.
    fn stage(
        &self,
        store: &dyn Store,
        staging: &mut dyn Staging,
        combined: Option<&str>,
        vars: &[&Var],
        whole: &Scope,
    ) -> Result<()> {
        let away = |name: &Name| self.away.iter().find(|kept| kept.var.name == *name);
        let dense = whole.names();
        let is_rows = |name: &Name| away(name).is_some_and(|kept| kept.hashed) && !dense.contains(name);
        let (tables, vars): (Vec<&Var>, Vec<&Var>) = vars.iter().partition(|var| is_rows(&var.name));
        if let (Some(table), Some(file)) = (tables.first(), combined) {
            return Err(not_combined(&table.name, file));
        }
        let remote = vars.iter().filter_map(|var| away(&var.name)).filter(|kept| !kept.hashed);
        let remote: Vec<&VarLocations> = remote.collect();
        fetch_into(&remote, self.client, self.trainer, whole)?;
        // A folder that does not exist yet holds nothing. One that cannot be read may hold lists that would stand for this save.
        let before = match store.view() {
            Err(e) if e.kind() == Kind::Missing => None,
            view => Some(view?),
        };
        stage_vars(staging, before.as_deref(), combined, &vars, whole)?;
        for kept in tables.iter().filter_map(|var| away(&var.name)) {
            self.stage_table(staging, before.as_deref(), kept)?;
        }
        Ok(())
    }

    fn stage_table(&self, staging: &mut dyn Staging, before: Option<&dyn View>, kept: &VarLocations) -> Result<()> {
        let sizes: Option<Vec<usize>> = kept.var.shape.iter().map(|size| size.known()).collect();
        let Some([height, row @ ..]) = sizes.as_deref() else {
            return Err(Error::internal(format!("table `{}` does not say how long its rows are", kept.var.name)));
        };
        let size = (*height, row.iter().product());
        let mut writer = TableWriter::new(staging, &kept.var.name, size, self.client.table_files());
        self.fetch_table(kept, &mut |rows| writer.add(rows))?;
        writer.finish(before)
    }
}

fn not_combined(table: &Name, file: &str) -> Error {
    let what = format!("`{table}` is hashed over the servers, and {file} does not hold such tables");
    Error::new(Kind::Unsupported, what).help("save one file per variable")
}

/// Fetches variables from the servers, whole, into a new scope inside `scope`. What no server keeps is found in `scope`.
pub fn fetch_whole(kept: &[&VarLocations], client: &Client, trainer: usize, scope: &Scope) -> Result<Scope> {
    let whole = scope.child();
    fetch_into(kept, client, trainer, &whole)?;
    Ok(whole)
}

fn fetch_into(kept: &[&VarLocations], client: &Client, trainer: usize, whole: &Scope) -> Result<()> {
    for kept in kept {
        let parts = fetch_parts(kept, client, trainer)?;
        let value = if kept.hashed { join_hashed(parts)? } else { Value::Dense(join(&kept.var.name, parts)?) };
        whole.set(&kept.var.name, value);
    }
    Ok(())
}

fn fetch_parts(kept: &VarLocations, client: &Client, trainer: usize) -> Result<Vec<Value>> {
    // Where every server has the whole, one is asked.
    let wanted = match kept.parts.first() {
        Some(first) if first.rows.is_none() && !kept.hashed => std::slice::from_ref(first),
        _ => &kept.parts[..],
    };
    wanted.iter().map(|part| fetch(part, client, trainer)).collect()
}

fn fetch(part: &Part, client: &Client, trainer: usize) -> Result<Value> {
    // Servers may use one name for different parts: each is asked alone.
    let mut received = ReceivedVars::default();
    client.pull(trainer as u32, &[(part.endpoint.clone(), part.name.to_string())], &mut received)?;
    let mut value = Value::Empty;
    if received.take(&part.name, &mut value) {
        return Ok(value);
    }
    let what = format!("server {} was asked for `{}` and did not send it", part.endpoint, part.name);
    Err(Error::new(Kind::Missing, what))
}

/// Rows of parts, one after the other.
pub(crate) fn join(name: &Name, parts: Vec<Value>) -> Result<Tensor> {
    let dense = |value: Value| match value {
        Value::Dense(tensor) => Ok(tensor),
        other => Err(Error::new(Kind::Argument, format!("a part of `{name}` is {}, not a tensor", other.kind()))),
    };
    let mut parts = parts.into_iter().map(dense).collect::<Result<Vec<Tensor>>>()?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let Some(first) = parts.first() else { return Err(Error::internal(format!("`{name}` has no parts"))) };
    let rows = parts.iter().map(Tensor::rows).sum();
    let mut whole = Tensor::zeros(first.dtype(), first.dims().with_rows(rows));
    if whole.bytes().len() != parts.iter().map(|p| p.bytes().len()).sum::<usize>() {
        return Err(Error::new(Kind::Shape, format!("the parts of `{name}` do not belong together"))
            .help("all servers of a job must serve programs of one transpiler"));
    }
    let mut at = 0;
    for part in &parts {
        whole.bytes_mut()[at..at + part.bytes().len()].copy_from_slice(part.bytes());
        at += part.bytes().len();
    }
    Ok(whole)
}

/// The rows of all servers, keyed by their ids.
fn join_hashed(parts: Vec<Value>) -> Result<Value> {
    let mut all: Vec<(i64, &[f32])> = Vec::new();
    let (mut height, mut width) = (0, 1);
    for part in &parts {
        let rows = part.rows().map_err(|e| Error::new(Kind::Argument, format!("a part of a table {e}")))?;
        let data = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("a part of a table {e}")))?;
        height = height.max(rows.height);
        width = rows.value.dims().matrix(1).1;
        all.extend(rows.rows.iter().copied().zip(data.chunks(width.max(1))));
    }
    all.sort_unstable_by_key(|(id, _)| *id);
    let data: Vec<f32> = all.iter().flat_map(|(_, row)| row.iter().copied()).collect();
    let value = Tensor::from_slice([all.len(), width], &data).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Value::Rows(SelectedRows { rows: all.iter().map(|(id, _)| *id).collect(), height, value }))
}

/// Loads the parts of one server from files of whole variables, `names` only if given. Either all are set, or none. A learning
/// rate or a counter that was not saved, as by Fluid 1.8, keeps its value; their names are returned.
pub fn load_parts(
    store: &dyn Store,
    combined: Option<&str>,
    kept: &[VarLocations],
    server: usize,
    names: Option<&[String]>,
    scope: &Scope,
) -> Result<Vec<String>> {
    let view = store.view()?;
    let asked = |kept: &&VarLocations| names.is_none_or(|names| names.iter().any(|n| *kept.var.name == **n));
    let mine: Vec<&VarLocations> =
        kept.iter().filter(|k| k.parts.iter().any(|p| p.server == server)).filter(asked).collect();
    let servers = kept.iter().flat_map(|kept| &kept.parts).map(|part| part.server + 1).max().unwrap_or(1);
    if let (Some(table), Some(file)) = (mine.iter().find(|kept| kept.hashed), combined) {
        return Err(not_combined(&table.var.name, file));
    }
    let mut absent = Vec::new();
    let mut loaded: Vec<(Name, Value)> = Vec::new();
    match combined {
        Some(_) => {
            let vars: Vec<&Var> = kept.iter().map(|kept| &kept.var).collect();
            for (name, value) in read_vars(&*view, combined, &vars)? {
                let Some(kept) = mine.iter().find(|kept| kept.var.name == name) else { continue };
                for part in kept.parts.iter().filter(|p| p.server == server) {
                    loaded.push((part.name.clone(), part_of(part, &value)?));
                }
            }
        }
        None => {
            for kept in mine {
                if !kept.updated && !is_saved(&*view, &kept.var.name) {
                    absent.push(kept.var.name.to_string());
                    continue;
                }
                if kept.hashed {
                    let mine = |id| server_of_id(id, servers) == server;
                    loaded.push((kept.var.name.clone(), Value::Rows(read_table(&*view, &kept.var.name, &mine)?)));
                    continue;
                }
                for (_, value) in read_vars(&*view, None, &[&kept.var])? {
                    for part in kept.parts.iter().filter(|p| p.server == server) {
                        loaded.push((part.name.clone(), part_of(part, &value)?));
                    }
                }
            }
        }
    }
    oarlock_io::set_all(scope, loaded)?;
    Ok(absent)
}

/// The rows of a part.
fn part_of(part: &Part, whole: &Value) -> Result<Value> {
    let tensor = whole.dense().map_err(|e| Error::new(Kind::Argument, format!("`{}` {e}", part.name)))?;
    let Some(rows) = part.rows else {
        return Ok(Value::Dense(tensor.clone()));
    };
    let width = tensor.bytes().len().checked_div(tensor.rows()).unwrap_or(0);
    let mut own = Tensor::zeros(tensor.dtype(), tensor.dims().with_rows(rows));
    own.bytes_mut().copy_from_slice(&tensor.bytes()[part.first_row * width..(part.first_row + rows) * width]);
    Ok(Value::Dense(own))
}
