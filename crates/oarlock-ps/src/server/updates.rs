//! The updates of a server's program: every block of `listen_and_serv`, ready to run on the gradients that arrive.
//!
//! A block becomes a program of its own, which an executor runs over the server's scope. So whatever an optimizer does on
//! one machine it does here, by the same kernels.

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Runtime};
use oarlock_net::codec::{Reader, Writer};
use oarlock_tensor::{DType, Tensor, Value, simd};
use parking_lot::Mutex;

use super::lr_schedule::LrSchedule;
use super::tables::Tables;
use crate::protocol::Named;
use crate::request::tables::{ServedTable, Tables as TablesReply};

use oarlock_transpile::ops::{FINGERPRINT, MAX_STALENESS, RATES, SERVERS, STEP_NOTICES};
use oarlock_transpile::{TRAINER_ID, backup};

/// How a server treats what arrives: the attribute `distributed_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerMode {
    /// Waits for all trainers, then makes one step.
    Sync,
    /// Makes a step for whatever arrives. (Half-async trainers wait for themselves; to a server they look the same.)
    Async,
    /// Adds up how far parameters moved.
    Geo,
}

impl ServerMode {
    fn from_attr(mode: i64) -> Result<ServerMode> {
        match mode {
            0 => Ok(ServerMode::Sync),
            1 | 2 => Ok(ServerMode::Async),
            3 => Ok(ServerMode::Geo),
            _ => Err(Error::new(Kind::Argument, format!("`listen_and_serv` knows no `distributed_mode` {mode}"))
                .help("0 is sync, 1 async, 2 half-async, 3 GEO")),
        }
    }
}

/// The blocks of a server.
pub(crate) struct Updates {
    /// Where parameters, their state and what arrived are.
    pub(crate) scope: Scope,
    /// How arriving values are treated.
    pub(crate) mode: ServerMode,
    /// How many trainers there are.
    pub(crate) trainers: usize,
    /// The fingerprint of the program; trainers of another are refused.
    pub(crate) fingerprint: String,
    /// Which of the servers this is, and how many there are, as far as the program says.
    place: (Option<u32>, u32),
    /// Where the program says to listen.
    pub(crate) endpoint: String,
    /// Tables whose rows are created on first use.
    pub(crate) tables: Tables,
    rates: LrSchedule,
    updates: Vec<Update>,
    /// The update that each gradient that trainers send belongs to.
    received: HashMap<Name, usize>,
    dc_asgd: bool,
    /// Look for nan and infinity in what arrives.
    check_nan_inf: bool,
    /// By how many pushes a trainer may be ahead of another.
    pub(crate) max_staleness: Option<u64>,
}

/// One update: what it waits for, and how it is done.
struct Update {
    /// The names under which trainers send their gradients; one name if whatever arrives is applied at once.
    from: Vec<Name>,
    /// The parameter that it changes, for what trainers may ask.
    param: Option<Name>,
    /// It leaves rows alone that no gradient names.
    by_rows: bool,
    runner: Mutex<Runner>,
}

/// A block as a program, and an executor for it.
pub(crate) struct Runner {
    executor: Executor,
    /// The block as it is written: for all trainers.
    program: Program,
    /// The same for some of the trainers.
    of_some: Vec<(Vec<usize>, Program)>,
}

impl Runner {
    pub(crate) fn new(program: Program, executor: Executor) -> Runner {
        Runner { executor, program, of_some: Vec::new() }
    }

    /// The block as it is written.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn run(&self, scope: &Scope) -> Result<()> {
        self.executor.run(&self.program, &[], &[], scope).map(drop)
    }

    /// Runs the block as if there were only these trainers.
    pub(crate) fn run_of(&mut self, scope: &Scope, from: &[Name], of: &[usize]) -> Result<()> {
        if from.len() < 2 || of.len() == from.len() {
            return self.run(scope);
        }
        if !self.of_some.iter().any(|(some, _)| some == of) {
            self.of_some.push((of.to_vec(), mean_of_some(&self.program, from, of)));
        }
        match self.of_some.iter().find(|(some, _)| some == of) {
            Some((_, program)) => self.executor.run(program, &[], &[], scope).map(drop),
            None => Ok(()),
        }
    }
}

impl Updates {
    /// Of a server's program, whose startup program has run in `scope`.
    pub(crate) fn new(
        program: &Program,
        scope: &Scope,
        options: &ExecOptions,
        runtime: &Arc<Runtime>,
    ) -> Result<Updates> {
        let op = listen_op(program)?;
        let attr = |name: &str| options.registry.get(&op.op_type).map(|e| e.sig.attrs(op).int(name));
        let mode = ServerMode::from_attr(attr("distributed_mode").transpose()?.unwrap_or(0))?;
        let trainers = attr("Fanin").transpose()?.unwrap_or(1).max(1) as usize;
        let lr_block = attr("lr_decay_block_id").transpose()?.and_then(|b| usize::try_from(b).ok()).filter(|b| *b > 0);
        let place = place(program, options)?;
        let mut updates = Updates {
            scope: scope.clone(),
            mode,
            trainers,
            fingerprint: text(op, FINGERPRINT).to_string(),
            place,
            endpoint: text(op, "endpoint").to_string(),
            tables: Tables::new(program, op, place.1, scope, options, runtime)?,
            rates: LrSchedule::new(names(op, STEP_NOTICES), names(op, RATES), trainers),
            updates: Vec::new(),
            received: HashMap::new(),
            check_nan_inf: options.check_nan_inf,
            max_staleness: attr(MAX_STALENESS).transpose()?.and_then(|k| u64::try_from(k).ok()),
            dc_asgd: matches!(op.attrs.get("dc_asgd"), Some(Attr::Bool(true))),
        };
        if let Some(block) = lr_block {
            let executor = Executor::with_runtime(options.clone(), runtime.clone());
            updates.rates.set_schedule(lower(program, block)?, executor);
        }
        for (grad, block) in grad_to_block(op)? {
            updates.rates.read_by(&lower(program, block)?);
            if !updates.tables.has_gradient(&grad) {
                updates.add_update(program, &grad, block, options, runtime)?;
            }
        }
        Ok(updates)
    }

    fn add_update(
        &mut self,
        program: &Program,
        grad: &Name,
        block: usize,
        options: &ExecOptions,
        runtime: &Arc<Runtime>,
    ) -> Result<()> {
        let mut block = lower(program, block)?;
        let from = merged_from(&block, grad).unwrap_or_else(|| vec![grad.clone()]);
        if from.len() > 1 || from[0] != *grad {
            // The mean lives only while the block runs.
            if let Some(var) = block.global_mut().vars.get_mut(grad) {
                var.persistable = false;
            }
        }
        let update = self.updates.len();
        for name in &from {
            self.received.insert(name.clone(), update);
        }
        let param = block.global().ops.iter().rev().find_map(|op| {
            let slot = if self.mode == ServerMode::Geo { "Out" } else { "ParamOut" };
            op.outputs.get(slot).first().cloned()
        });
        self.updates.push(Update {
            from,
            param,
            by_rows: block
                .global()
                .ops
                .iter()
                .any(|op| options.registry.traits(&op.op_type).updates_listed_rows_only(op)),
            runner: Mutex::new(Runner::new(block, Executor::with_runtime(options.clone(), runtime.clone()))),
        });
        Ok(())
    }

    /// Which of the servers this is, as far as the program says.
    pub(crate) fn number(&self) -> Option<u32> {
        self.place.0
    }

    /// The names that a trainer must send in every step of synchronous training.
    pub(crate) fn expected_of(&self, trainer: usize) -> impl Iterator<Item = &Name> {
        let dense = self
            .updates
            .iter()
            .filter_map(move |u| if u.from.len() > 1 { u.from.get(trainer) } else { u.from.first() });
        dense.chain(self.tables.expected_of(trainer)).chain(self.rates.expected())
    }

    /// Does this server know what to do with such a variable?
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.received.contains_key(name) || self.tables.takes(name) || self.rates.takes(name)
    }

    /// Checks that a gradient fits its parameter, and is finite where that is checked: its sender gets the error, and not all trainers
    /// when the step is made.
    pub(crate) fn check(&self, name: &str, value: &Value) -> Result<()> {
        if self.check_nan_inf && !is_finite(value) {
            let what = format!("server {} was sent `{name}` with a nan or an infinity", self.endpoint);
            return Err(Error::new(Kind::Nan, what)
                .help("set FLAGS_check_nan_inf for the trainers, too: they name the operator that wrote it"));
        }
        if self.rates.takes(name) {
            return self.rates.check(name, value, &self.scope);
        }
        if let Some((width, table)) = self.tables.of_gradient(name) {
            return fits_rows(value, None, width).map_err(|why| misfit(name, &table, &why));
        }
        let Some(param) = self.param_of(name) else { return Ok(()) };
        let Some(var) = self.scope.find(param) else { return Ok(()) };
        let kept = var.read();
        let Ok(whole) = kept.dense() else { return Ok(()) };
        let (rows, width) = whole.dims().matrix(1);
        let fits = match value {
            Value::Rows(_) => fits_rows(value, Some(rows), width),
            other => match other.dense() {
                Ok(sent) if sent.numel() == whole.numel() => Ok(()),
                Ok(sent) => Err(format!("has {} elements, and the parameter has {}", sent.numel(), whole.numel())),
                Err(e) => Err(e.to_string()),
            },
        };
        fits.map_err(|why| misfit(name, param, &why))
    }

    /// Keeps what a trainer sent until its step is complete; `value` gets what was there before, for its memory.
    pub(crate) fn keep(&self, trainer: usize, name: &str, value: &mut Value) {
        if !self.tables.keep(name, value) && !self.rates.keep(trainer, name, value) {
            std::mem::swap(&mut *self.scope.var(name).write(), value);
        }
    }

    /// Makes one step from what these trainers sent.
    pub(crate) fn step(&self, of: &[usize]) -> Result<()> {
        self.rates.step(of, &self.scope)?;
        for update in &self.updates {
            update.runner.lock().run_of(&self.scope, &update.from, of)?;
        }
        self.tables.step(of)
    }

    /// Computes the learning rates for the values of a push, into a scope in which its gradients are then applied.
    pub(crate) fn rates_of(&self, pushed: &[Named], own: &mut Option<Scope>) -> Result<()> {
        self.rates.of_push(pushed, &self.scope, own)
    }

    /// Applies one variable at once, at the learning rates of its push.
    pub(crate) fn apply(&self, trainer: usize, name: &str, value: &mut Value, rates: Option<&Scope>) -> Result<()> {
        if self.tables.takes(name) {
            return self.tables.apply(name, value, rates);
        }
        match self.received.get(name) {
            Some(update) if self.mode == ServerMode::Geo => {
                let update = &self.updates[*update];
                let _alone = update.runner.lock();
                self.add(update.param.as_ref(), name, value)
            }
            Some(update) => {
                let runner = self.updates[*update].runner.lock();
                if self.dc_asgd {
                    self.scope.set(TRAINER_ID, Tensor::scalar(trainer as i64));
                }
                let var = self.scope.var(name);
                std::mem::swap(&mut *var.write(), value);
                let run = runner.run(rates.unwrap_or(&self.scope));
                std::mem::swap(&mut *var.write(), value);
                run
            }
            None if self.rates.takes(name) => Ok(()),
            None => Err(self.unknown(name)),
        }
    }

    /// Does what the block of a GEO server says, `param = sum(param, delta)`, in place: of a table only the rows of the delta.
    fn add(&self, param: Option<&Name>, name: &str, delta: &Value) -> Result<()> {
        let var = param.and_then(|param| self.scope.find(param)).ok_or_else(|| self.unknown(name))?;
        let mut value = var.write();
        add_to(value.dense_mut(), delta).map_err(|why| Error::new(Kind::Shape, format!("delta `{name}` {why}")))
    }

    /// The parameter that a received variable changes.
    pub(crate) fn param_of(&self, received: &str) -> Option<&Name> {
        self.updates[*self.received.get(received)?].param.as_ref()
    }

    /// Does it matter what trainers fetch?
    pub(crate) fn remembers_fetches(&self) -> bool {
        self.dc_asgd
    }

    /// The variables that a snapshot of the server's log has: all but tables, which have a snapshot of their own, and gradients.
    pub(crate) fn saved_variables(&self) -> Vec<Name> {
        let is_gradient = |name: &Name| self.received.contains_key(name) || self.tables.takes(name);
        let mut names = self.scope.names();
        names.retain(|name| !is_gradient(name) && !self.tables.has_value(name));
        names
    }

    /// Writes what no variable has to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.bool(self.rates.has_begun());
        self.tables.save_calls(to);
    }

    /// Reads what was written.
    pub(crate) fn load(&self, from: &mut Reader<'_>) -> Result<()> {
        self.rates.set_begun(from.bool()?);
        self.tables.load_calls(from)
    }

    /// Notes what a trainer fetched: what it computes next is compensated for what changed since.
    pub(crate) fn remember(&self, trainer: usize, name: &str, value: &Value) -> Result<()> {
        if !self.dc_asgd || !self.updates.iter().any(|u| u.param.as_ref().is_some_and(|p| p == name)) {
            return Ok(());
        }
        let copy = self.scope.var(&backup(&name.into(), trainer));
        copy.write().copy_from(value).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))
    }

    /// The tables whose rows can be looked up.
    pub(crate) fn served_tables(&self) -> TablesReply {
        let mut tables: Vec<ServedTable> = self.tables.served().collect();
        for name in self.updates.iter().filter_map(|update| update.param.as_ref()) {
            let Some(var) = self.scope.find(name) else { continue };
            let value = var.read();
            let Some(tensor) = value.dense().ok().filter(|t| t.dtype() == DType::F32 && t.dims().rank() > 1) else {
                continue;
            };
            let (rows, width) = tensor.dims().matrix(1);
            let (rows, width) = (rows as u64, width as u64);
            tables.push(ServedTable { name: name.to_string(), width, rows, hashed: false });
        }
        TablesReply::new(self.place.0, self.place.1, tables)
    }

    /// The parameters that the next step changes; of a table, the rows, ascending.
    pub(crate) fn about_to_change(&self) -> impl Iterator<Item = (&Name, Option<Vec<i64>>)> {
        self.updates.iter().filter_map(|u| Some((u.param.as_ref()?, self.rows_of(u))))
    }

    /// The rows that the next step is going to change; `None` if that may be all of them.
    fn rows_of(&self, update: &Update) -> Option<Vec<i64>> {
        if !update.by_rows {
            return None;
        }
        let mut rows = None;
        for name in &update.from {
            if let Some(var) = self.scope.find(name)
                && let Value::Rows(sent) = &*var.read()
            {
                rows.get_or_insert_with(Vec::new).extend_from_slice(&sent.rows);
            }
        }
        rows.map(|mut rows: Vec<i64>| {
            rows.sort_unstable();
            rows.dedup();
            rows
        })
    }

    pub(crate) fn unknown(&self, name: &str) -> Error {
        Error::new(Kind::Unknown, format!("server {} has no use for `{name}`", self.endpoint))
            .note(format!("it expects: {}", self.known()))
            .help("trainers and servers of one job must transpile the same program in the same way")
    }

    fn known(&self) -> String {
        let mut names: Vec<&str> =
            self.received.keys().chain(self.rates.names()).map(Name::as_str).chain(self.tables.names()).collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(8);
        names.truncate(8);
        let list = names.join(", ");
        if more > 0 { format!("{list} and {more} more") } else { list }
    }
}

fn misfit(name: &str, param: &Name, why: &str) -> Error {
    Error::new(Kind::Shape, format!("`{name}` does not fit `{param}`: it {why}"))
        .help("trainers and servers of one job must transpile the same program in the same way")
}

/// Rows of such a width, all of them there if it is known how many there are.
fn fits_rows(value: &Value, height: Option<usize>, width: usize) -> std::result::Result<(), String> {
    let sent = value.rows().map_err(|e| e.to_string())?;
    if sent.value.numel() != sent.rows.len() * width {
        return Err(format!("has {} elements for {} rows of {width}", sent.value.numel(), sent.rows.len()));
    }
    let strange = |row: &&i64| height.is_some_and(|height| usize::try_from(**row).map_or(true, |row| row >= height));
    match sent.rows.iter().find(strange) {
        Some(row) => Err(format!("lists row {row}, and there are {}", height.unwrap_or(0))),
        None => Ok(()),
    }
}

fn is_finite(value: &Value) -> bool {
    let tensor = match value {
        Value::Rows(rows) => Some(&rows.value),
        other => other.dense().ok(),
    };
    let Some(tensor) = tensor else { return true };
    match (tensor.data::<f32>(), tensor.data::<f64>()) {
        (Ok(data), _) => data.iter().all(|v| v.is_finite()),
        (_, Ok(data)) => data.iter().all(|v| v.is_finite()),
        _ => true,
    }
}

/// Adds a delta to a parameter; says what does not fit.
fn add_to(param: &mut Tensor, delta: &Value) -> std::result::Result<(), String> {
    let (rows, width) = param.dims().matrix(1);
    let data = param.data_mut::<f32>().map_err(|e| e.to_string())?;
    match delta {
        Value::Rows(delta) => {
            let values = delta.value.data::<f32>().map_err(|e| e.to_string())?;
            if values.len() != delta.rows.len() * width {
                return Err(format!("has {} elements for {} rows of {width}", values.len(), delta.rows.len()));
            }
            if let Some(row) = delta.rows.iter().find(|row| **row < 0 || **row as usize >= rows) {
                return Err(format!("lists row {row}, and there are {rows}"));
            }
            for (row, values) in delta.rows.iter().zip(values.chunks_exact(width.max(1))) {
                simd::add_assign(&mut data[*row as usize * width..][..width], values);
            }
        }
        other => {
            let values = other.dense().and_then(Tensor::data::<f32>).map_err(|e| e.to_string())?;
            if values.len() != data.len() {
                return Err(format!("has {} elements, and the parameter {}", values.len(), data.len()));
            }
            simd::add_assign(data, values);
        }
    }
    Ok(())
}

fn text<'a>(op: &'a Op, name: &str) -> &'a str {
    match op.attrs.get(name) {
        Some(Attr::String(value)) => value,
        _ => "",
    }
}

/// The variables that an attribute lists.
fn names(op: &Op, attr: &str) -> Vec<Name> {
    match op.attrs.get(attr) {
        Some(Attr::Strings(list)) => list.iter().map(|name| name.as_str().into()).collect(),
        _ => Vec::new(),
    }
}

/// The operator that makes a program a server's; what else stands in block 0 has no place there.
pub(crate) fn listen_op(program: &Program) -> Result<&Op> {
    match &program.global().ops[..] {
        [op] if op.op_type == "listen_and_serv" => Ok(op),
        _ => Err(Error::new(Kind::Argument, "this is not the program of a server: it is not one `listen_and_serv`")
            .help("get it from DistributeTranspiler.get_pserver_program(endpoint)")),
    }
}

/// Which of the servers a program is for, and how many there are, as far as it says.
pub(crate) fn place(program: &Program, options: &ExecOptions) -> Result<(Option<u32>, u32)> {
    let op = listen_op(program)?;
    let attr = |name: &str| options.registry.get(&op.op_type).map(|e| e.sig.attrs(op).int(name)).transpose();
    let number = attr("pserver_id")?.and_then(|id| u32::try_from(id).ok());
    Ok((number, attr(SERVERS)?.and_then(|n| u32::try_from(n).ok()).unwrap_or(0)))
}

/// The endpoint in a server's program.
pub(crate) fn endpoint(program: &Program) -> Result<&str> {
    Ok(text(listen_op(program)?, "endpoint"))
}

/// The fingerprint of a server's program.
pub(crate) fn fingerprint(program: &Program) -> Result<&str> {
    Ok(text(listen_op(program)?, FINGERPRINT))
}

/// `gradient:block`, taken apart.
pub(crate) fn grad_to_block(op: &Op) -> Result<Vec<(Name, usize)>> {
    let Some(Attr::Strings(pairs)) = op.attrs.get("grad_to_block_id") else { return Ok(Vec::new()) };
    let parse = |pair: &String| {
        let (grad, block) = pair.rsplit_once(':')?;
        Some((Name::from(grad), block.parse().ok()?))
    };
    let wrong =
        |pair: &String| Error::new(Kind::Format, format!("`grad_to_block_id` holds `{pair}`, not `gradient:block`"));
    pairs.iter().map(|pair| parse(pair).ok_or_else(|| wrong(pair))).collect()
}

/// A block as a program of its own: its operators stand in block 0, over the variables that it sees.
pub(crate) fn lower(program: &Program, block: usize) -> Result<Program> {
    if block == 0 || block >= program.blocks().len() {
        return Err(Error::new(Kind::Verify, format!("`listen_and_serv` names block {block}, which there is not"))
            .help("get the program from DistributeTranspiler.get_pserver_program(endpoint)"));
    }
    let mut alone = program.clone();
    let ops = alone.block(block).ops.clone();
    let mut outer = Some(block);
    while let Some(at) = outer.filter(|at| *at != 0) {
        for var in program.block(at).vars.values() {
            alone.global_mut().set_var(var.clone());
        }
        outer = program.block(at).parent;
    }
    for inner in alone.blocks_mut() {
        if inner.parent == Some(block) {
            inner.parent = Some(0);
        }
    }
    alone.global_mut().ops = ops;
    oarlock_transpile::empty_dead_blocks(&mut alone);
    Ok(alone)
}

/// The variables that are summed to give `grad`, one per trainer; `None` if the gradient arrives as it is.
pub(crate) fn merged_from(block: &Program, grad: &Name) -> Option<Vec<Name>> {
    let sum = merge_op(block, grad)?;
    Some(block.global().ops[sum].inputs.get("X").to_vec())
}

fn merge_op(block: &Program, grad: &Name) -> Option<usize> {
    let merges = |op: &Op| {
        op.op_type == "sum" && op.outputs.get("Out") == [grad.clone()] && !op.inputs.args().any(|x| x == grad)
    };
    block.global().ops.iter().position(merges)
}

/// The same block for the mean of some trainers' gradients.
fn mean_of_some(program: &Program, from: &[Name], of: &[usize]) -> Program {
    let mut program = program.clone();
    let some: Vec<Name> = of.iter().filter_map(|t| from.get(*t).cloned()).collect();
    let mut merged = None;
    for op in &mut program.global_mut().ops {
        if op.op_type == "sum" && op.inputs.get("X") == from {
            op.inputs.set("X", some.clone());
            merged = op.outputs.get("Out").first().cloned();
        } else if op.op_type == "scale" && op.inputs.get("X").first() == merged.as_ref() && merged.is_some() {
            op.attrs.set("scale", 1.0 / some.len() as f32);
            merged = None;
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Registry;
    use oarlock_tensor::{SelectedRows, Tensor};

    use super::*;

    /// The rows that a server is going to change after a trainer sent rows 4 and 1 of a gradient.
    fn changed_by(update: &str) -> Option<Vec<i64>> {
        let text = format!(
            "block 0 {{
                var g: rows f32[6, 1] persistable
                var w: f32[6, 1] persistable
                var s: f32[6, 1] persistable
                var l: f32[6, 1] persistable
                var lr: f32[1] persistable
                listen_and_serv() {{grad_to_block_id: [\"g:1\"], optimize_blocks: [block 1]}}
            }}
            block 1 in 0 {{
                {update}
            }}"
        );
        let (program, scope) = (Program::from_text(&text).unwrap(), Scope::new());
        let registry = Arc::new(Registry::new(oarlock_ops::ops().chain(crate::ops()), []));
        let options =
            ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false };
        let updates = Updates::new(&program, &scope, &options, &Arc::new(Runtime::new(1))).unwrap();
        let value = Tensor::from_slice([2, 1], &[1.0f32, 2.0]).unwrap();
        scope.set("g", Value::Rows(SelectedRows { rows: vec![4, 1], height: 6, value }));
        let mut all = updates.about_to_change();
        all.next().and_then(|(_, rows)| rows)
    }

    #[test]
    fn server_keeps_only_the_rows_that_an_optimizer_of_listed_rows_changes() {
        let ftrl = "LinearAccumOut: l, ParamOut: w, SquaredAccumOut: s = \
                    ftrl(Grad: g, LearningRate: lr, LinearAccumulator: l, Param: w, SquaredAccumulator: s)";
        let sgd = "ParamOut: w = sgd(Grad: g, LearningRate: lr, Param: w)";
        let momentum =
            "ParamOut: w, VelocityOut: s = momentum(Grad: g, LearningRate: lr, Param: w, Velocity: s) {mu: 0.9}";
        assert_eq!([ftrl, sgd, momentum].map(changed_by), [Some(vec![1, 4]), Some(vec![1, 4]), None]);
    }
}
