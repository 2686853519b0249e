//! Hashed tables: rows by id, made on first use, updated by the block that the program says.
//!
//! An update takes the rows that gradients list out of the table, with their optimizer state, as ordinary tensors; the block
//! runs on these, and then they are put back. So any optimizer that works row by row works on a table.

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Attr, Dim, Error, Kind, Name, Op, Program, Result, Runtime, VarKind};
use oarlock_tensor::table::{
    AdmissionState, HashedTable, Header, Missing, RowInit, RowPolicy, SHARDS, SHOWN, Shown, Spec, State,
};
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value};
use parking_lot::Mutex;

use super::evict::Calls;
use super::lr_schedule::lend;
use super::row_limit::RowLimit;
use super::updates::{Runner, grad_to_block, lower, merged_from};
use crate::checkpoint::{CLOCK, HEADER, ROW, SHOWS, TOSSES, WAITING, headers_of};
use crate::request::evict::Stale;
use crate::request::tables::ServedTable;

/// The tables of a server.
#[derive(Default)]
pub(crate) struct Tables {
    tables: Vec<Table>,
    by_name: HashMap<Name, usize>,
    /// Which table, and which state of its optimizer if not the weights, goes by a name.
    by_value: HashMap<Name, (usize, Option<usize>)>,
    /// Which table, and which trainer's gradient of it, a received variable is.
    by_gradient: HashMap<Name, (usize, usize)>,
    /// The gradients that blocks merge to.
    merged: Vec<Name>,
}

struct Table {
    rows: HashedTable,
    limit: RowLimit,
    /// What trainers sent for the step under way.
    held: Vec<Mutex<Value>>,
    from: Vec<Name>,
    update: Mutex<RowUpdate>,
    evictions: Calls,
}

/// An update of rows that were taken out of a table.
struct RowUpdate {
    runner: Runner,
    /// Holds the rows while the block runs; everything else it finds in the server's scope.
    scope: Scope,
    param: Name,
    states: Vec<Name>,
    width: usize,
    ids: Vec<i64>,
    weights: Vec<f32>,
    state: Vec<f32>,
    /// How often each of the ids was shown.
    shown: Vec<Shown>,
    /// Counts the updates of this table: how old a row is.
    step: u32,
}

impl Tables {
    /// Of a server's program, one of so many servers.
    pub(crate) fn new(
        program: &Program,
        op: &Op,
        servers: u32,
        scope: &Scope,
        options: &ExecOptions,
        runtime: &Arc<Runtime>,
    ) -> Result<Tables> {
        let mut tables = Tables::default();
        let initial = Initial::of(program);
        for (grad, block) in grad_to_block(op)? {
            let block = lower(program, block)?;
            let Some((param, states)) = row_variables(&block, &grad) else { continue };
            let from = merged_from(&block, &grad).unwrap_or_else(|| vec![grad.clone()]);
            let mut spec = spec(program, &param, &states, &initial)?;
            let (width, limit) = (spec.width, RowLimit::new(spec.max_rows, servers));
            spec.max_rows = limit.of_server();
            let rows = HashedTable::new(spec).map_err(|e| Error::new(Kind::Argument, e.to_string()))?;
            let step = restore(&rows, limit, scope, &param, &states)?;
            let index = tables.tables.len();
            tables.by_name.insert(param.clone(), index);
            tables.by_value.insert(param.clone(), (index, None));
            tables.by_value.extend(states.iter().enumerate().map(|(k, state)| (state.clone(), (index, Some(k)))));
            tables.by_gradient.extend(from.iter().enumerate().map(|(t, name)| (name.clone(), (index, t))));
            tables.merged.push(grad.clone());
            let block = as_tensors(block, &param, &states, &grad, width);
            let executor = Executor::with_runtime(options.clone(), runtime.clone());
            let update = RowUpdate {
                runner: Runner::new(block, executor),
                scope: scope.child(),
                param,
                states,
                width,
                ids: Vec::new(),
                weights: Vec::new(),
                state: Vec::new(),
                shown: Vec::new(),
                step,
            };
            let held = from.iter().map(|_| Mutex::default()).collect();
            tables.tables.push(Table {
                rows,
                limit,
                held,
                from,
                update: Mutex::new(update),
                evictions: Calls::default(),
            });
        }
        Ok(tables)
    }

    /// Is this the gradient of a table?
    pub(crate) fn has_gradient(&self, grad: &Name) -> bool {
        self.merged.contains(grad)
    }

    /// How many elements the rows of a table have, if there is such a table.
    pub(crate) fn width(&self, table: &str) -> Option<usize> {
        self.by_name.get(table).map(|at| self.tables[*at].rows.spec().width)
    }

    /// How many rows a table has, if there is such a table.
    pub(crate) fn rows(&self, table: &str) -> Option<u64> {
        self.by_name.get(table).map(|at| self.tables[*at].rows.len())
    }

    /// What can be asked for rows of.
    pub(crate) fn served(&self) -> impl Iterator<Item = ServedTable> {
        self.tables.iter().map(|table| {
            let spec = table.rows.spec();
            let rows = table.limit.declared().unwrap_or(u64::MAX);
            ServedTable { name: spec.name.clone(), width: spec.width as u64, rows, hashed: true }
        })
    }

    /// How long the rows of a gradient are, and the name of the table that it changes.
    pub(crate) fn of_gradient(&self, name: &str) -> Option<(usize, Name)> {
        let (table, _) = self.by_gradient.get(name)?;
        let spec = self.tables[*table].rows.spec();
        Some((grad_width(spec), spec.name.as_str().into()))
    }

    /// Do trainers send such a variable?
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.by_gradient.contains_key(name)
    }

    /// What trainers send.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().flat_map(|t| &t.from).map(Name::as_str)
    }

    /// What a trainer must send in every step of synchronous training.
    pub(crate) fn expected_of(&self, trainer: usize) -> impl Iterator<Item = &Name> {
        self.tables.iter().filter_map(move |t| if t.from.len() > 1 { t.from.get(trainer) } else { t.from.first() })
    }

    /// Keeps a gradient until the step is complete; false if it is not one of a table.
    pub(crate) fn keep(&self, name: &str, value: &mut Value) -> bool {
        let Some((table, trainer)) = self.by_gradient.get(name) else { return false };
        std::mem::swap(&mut *self.tables[*table].held[*trainer].lock(), value);
        true
    }

    /// Updates all tables from what these trainers sent.
    pub(crate) fn step(&self, of: &[usize]) -> Result<()> {
        for table in &self.tables {
            let one = [0];
            let of = if table.from.len() > 1 { of } else { &one };
            let mut grads: Vec<Value> = of.iter().map(|t| std::mem::take(&mut *table.held[*t].lock())).collect();
            let nothing = |grad: &Value| grad.rows().is_ok_and(|rows| rows.rows.is_empty());
            if grads.iter().all(nothing) {
                table.pass_step(of, &mut grads, None)?;
            } else {
                table.apply(of, &mut grads, None)?;
            }
            for (t, grad) in of.iter().zip(grads) {
                // Its memory serves the next step.
                *table.held[*t].lock() = grad;
            }
        }
        Ok(())
    }

    /// Applies one gradient at once, at the learning rates of its push.
    pub(crate) fn apply(&self, name: &str, value: &mut Value, rates: Option<&Scope>) -> Result<()> {
        let Some((table, trainer)) = self.by_gradient.get(name) else { return Ok(()) };
        let table = &self.tables[*table];
        let of = if table.from.len() > 1 { vec![*trainer] } else { vec![0] };
        let mut grads = [std::mem::take(value)];
        let nothing = grads[0].rows().is_ok_and(|rows| rows.rows.is_empty());
        let result =
            if nothing { table.pass_step(&of, &mut grads, rates) } else { table.apply(&of, &mut grads, rates) };
        let [grad] = grads;
        *value = grad;
        result
    }

    /// Rows of a table; those that do not exist are made, or zero for somebody who only reads.
    pub(crate) fn read(&self, table: &str, ids: &[i64], read_only: bool, into: &mut Vec<f32>) -> Result<()> {
        let Some(table) = self.by_name.get(table).map(|at| &self.tables[*at]) else { return Ok(()) };
        let width = table.rows.spec().width;
        into.clear();
        into.resize(ids.len() * width, 0.0);
        let missing = if read_only { Missing::Zero } else { Missing::Create };
        table.rows.read(ids, into, missing).map(drop).map_err(|e| table.limit.explain(e))
    }

    /// All rows of a table, or of one state of its optimizer; false if there is no such table.
    pub(crate) fn copy(&self, name: &str, into: &mut Value) -> Result<bool> {
        match self.by_value.get(name) {
            Some((table, state)) => self.tables[*table].copy(*state, into).map(|()| true),
            None => Ok(false),
        }
    }

    /// The rows of a table, or of one state of its optimizer, from a shard on, until that is enough bytes. Returns the shard to go on
    /// with.
    pub(crate) fn copy_from(&self, name: &str, from: usize, enough: u64, into: &mut Value) -> Result<usize> {
        match self.by_value.get(name) {
            Some((table, state)) => self.tables[*table].copy_from(*state, from, enough, into),
            None => Err(Error::new(Kind::Missing, format!("there is no table `{name}`"))),
        }
    }

    /// Does a variable of this name consist of a table's rows?
    pub(crate) fn has_value(&self, name: &str) -> bool {
        self.by_value.contains_key(name)
    }

    /// Sets a fence in all tables: [`Tables::read_snapshot`] reads them as they are now.
    pub(crate) fn begin_snapshot(&self, number: u64) -> Result<Vec<SnapshotTable>> {
        for table in &self.tables {
            if let Err(e) = table.rows.begin_snapshot(number) {
                self.end_snapshot();
                return Err(in_table(e));
            }
        }
        let cut = |(at, table): (usize, &Table)| {
            let clock = table.update.lock().step;
            SnapshotTable { at, sightings: table.rows.admission_state(), clock }
        };
        Ok(self.tables.iter().enumerate().map(cut).collect())
    }

    /// Hands over the rows of a table as they were at the fence, some shards at a time: weights, states and headers by name.
    pub(crate) fn read_snapshot(&self, cut: &SnapshotTable, take: &mut TakeRows<'_>) -> Result<()> {
        let table = &self.tables[cut.at];
        let names = {
            let update = table.update.lock();
            [std::slice::from_ref(&update.param), &update.states[..]].concat()
        };
        for group in 0..CUT_GROUPS {
            let mut group_rows = GroupRows::new(names.len(), table.rows.spec().width);
            for shard in group * SHARDS / CUT_GROUPS..(group + 1) * SHARDS / CUT_GROUPS {
                table
                    .rows
                    .snapshot_shard(shard, |id, header, weights, states| group_rows.add(id, header, weights, states))
                    .map_err(in_table)?;
            }
            if !group_rows.ids.is_empty() {
                take(group, &group_rows.finish(&names)?)?;
            }
        }
        take(CUT_GROUPS, &[(headers_of(&names[0]).into(), Value::Dense(headers(&cut.lines())?))])
    }

    /// From now on [`Tables::read_before_round`] gives rows as they are now.
    pub(crate) fn begin_step(&self) {
        self.tables.iter().for_each(|table| table.rows.begin_step());
    }

    /// Rows of a table as they were when the last round began; those that did not exist, as they would start. Nothing is made.
    pub(crate) fn read_before_step(&self, table: &str, ids: &[i64], into: &mut Vec<f32>) -> Result<()> {
        let Some(table) = self.by_name.get(table).map(|at| &self.tables[*at]) else { return Ok(()) };
        into.clear();
        into.resize(ids.len() * table.rows.spec().width, 0.0);
        table.rows.read_before_step(ids, into).map_err(in_table)
    }

    /// Lets the fence go.
    pub(crate) fn end_snapshot(&self) {
        self.tables.iter().for_each(|table| table.rows.end_snapshot());
    }

    /// Takes stale rows away from all tables; returns how many.
    pub(crate) fn evict(&self, stale: Stale) -> u64 {
        let all = self.tables.iter().map(|table| {
            let updates = table.update.lock().step;
            table.evictions.evict(&table.rows, updates, stale)
        });
        all.sum()
    }

    /// A line about each table: rows and memory.
    pub(crate) fn report(&self) -> impl Iterator<Item = String> {
        self.tables.iter().map(|t| t.rows.memory().to_string())
    }
}

/// Takes rows of some shards: the number of their group, and variables by name.
pub(crate) type TakeRows<'a> = dyn FnMut(usize, &[(Name, Value)]) -> Result<()> + 'a;

/// A table whose cut is open, and what it knew of ids without a row.
pub(crate) struct SnapshotTable {
    at: usize,
    sightings: AdmissionState,
    /// Updates of the table.
    clock: u32,
}

impl SnapshotTable {
    /// What headers say of it.
    fn lines(&self) -> Vec<i64> {
        let waiting = self.sightings.waiting.iter();
        let waiting = waiting.map(|(id, seen)| [WAITING, *id, i64::from(seen.last), i64::from(seen.count)]);
        let tosses = self.sightings.tosses.iter().map(|(shard, count)| [TOSSES, *shard as i64, 0, *count as i64]);
        waiting.chain(tosses).chain([[CLOCK, 0, i64::from(self.clock), 0]]).flatten().collect()
    }
}

/// Lines of headers.
fn headers(lines: &[i64]) -> Result<Tensor> {
    Tensor::from_slice([lines.len() / HEADER, HEADER], lines).map_err(in_table)
}

/// A checkpoint holds a table in so many files per variable, so that no more than one of them is in memory at a time.
const CUT_GROUPS: usize = 16;

/// Rows of some shards.
struct GroupRows {
    width: usize,
    ids: Vec<i64>,
    values: Vec<Vec<f32>>,
    headers: Vec<i64>,
}

impl GroupRows {
    fn new(values: usize, width: usize) -> GroupRows {
        GroupRows { width, ids: Vec::new(), values: vec![Vec::new(); values], headers: Vec::new() }
    }

    fn add(&mut self, id: i64, header: Header, weights: &[f32], states: &[f32]) {
        self.ids.push(id);
        self.headers.extend([ROW, id, i64::from(header.last), i64::from(header.count)]);
        if header.shown != Shown::default() {
            let bits = [header.shown.show, header.shown.click].map(|number| i64::from(number.to_bits()));
            self.headers.extend([SHOWS, id, bits[0], bits[1]]);
        }
        let rows = [weights].into_iter().chain(states.chunks(self.width));
        self.values.iter_mut().zip(rows).for_each(|(to, row)| to.extend_from_slice(row));
    }

    fn finish(self, names: &[Name]) -> Result<Vec<(Name, Value)>> {
        let (count, width) = (self.ids.len(), self.width);
        let rows = |(name, data): (&Name, Vec<f32>)| {
            let value = Tensor::from_slice([count, width], &data).map_err(in_table)?;
            Ok((name.clone(), Value::Rows(SelectedRows { rows: self.ids.clone(), height: count as i64, value })))
        };
        let mut all = names.iter().zip(self.values).map(rows).collect::<Result<Vec<_>>>()?;
        all.push((headers_of(&names[0]).into(), Value::Dense(headers(&self.headers)?)));
        Ok(all)
    }
}

/// Puts rows that were loaded before the server started into its table: weights, states and headers as far as they were loaded.
/// Returns how many updates the table had seen.
fn restore(table: &HashedTable, limit: RowLimit, scope: &Scope, param: &Name, states: &[Name]) -> Result<u32> {
    let known = Known::take(scope, param);
    table.set_admission_state(&known.sightings);
    table.set_clock(known.step);
    let Some(loaded) = take_rows(scope, param) else { return Ok(known.step) };
    let states: Vec<Option<ById>> =
        states.iter().map(|name| take_rows(scope, name).map(ById::new).transpose()).collect::<Result<_>>()?;
    let (spec, width) = (table.spec(), table.spec().width);
    if loaded.value.numel() != loaded.rows.len() * width {
        let what = format!("the rows that were loaded for `{param}` do not have {width} elements");
        return Err(Error::new(Kind::Shape, what).help("load what was saved from this program"));
    }
    let mut state = vec![0.0; spec.state_width()];
    for (id, weights) in loaded.rows.iter().zip(loaded.value.data::<f32>().map_err(in_table)?.chunks(width)) {
        for ((from, how), to) in states.iter().zip(&spec.state).zip(state.chunks_mut(width)) {
            match from.as_ref().and_then(|from| from.get(*id, width)) {
                Some(row) => to.copy_from_slice(row),
                None => to.fill(how.initial),
            }
        }
        let header = known.headers.get(id).copied().unwrap_or(Header { count: 1, ..Header::default() });
        let header = Header { shown: known.shows.get(id).copied().unwrap_or_default(), ..header };
        table.insert(*id, header, weights, &state).map_err(|e| limit.explain(e))?;
    }
    Ok(known.step)
}

/// What was loaded about the rows of a table besides their numbers.
#[derive(Default)]
struct Known {
    headers: HashMap<i64, Header>,
    shows: HashMap<i64, Shown>,
    sightings: AdmissionState,
    /// The last update of all.
    step: u32,
}

impl Known {
    fn take(scope: &Scope, param: &Name) -> Known {
        let mut known = Known::default();
        let Some(var) = scope.find(&headers_of(param)) else { return known };
        let value = std::mem::take(&mut *var.write());
        let lines = value.dense().ok().and_then(|tensor| tensor.data::<i64>().ok()).unwrap_or_default();
        for line in lines.chunks_exact(HEADER) {
            let number = |at: usize| u32::try_from(line[at]).unwrap_or(u32::MAX);
            let header = Header { last: number(2), count: number(3), ..Header::default() };
            match line[0] {
                ROW => {
                    known.step = known.step.max(header.last);
                    known.headers.insert(line[1], header);
                }
                WAITING => known.sightings.waiting.push((line[1], header)),
                SHOWS => {
                    let [show, click] = [2, 3].map(|at| f32::from_bits(number(at)));
                    known.shows.insert(line[1], Shown { show, click });
                }
                CLOCK => known.step = known.step.max(header.last),
                TOSSES => known.sightings.tosses.push((line[1] as usize, line[3] as u64)),
                _ => {}
            }
        }
        known
    }
}

/// Rows that are found by their ids.
struct ById {
    rows: SelectedRows,
    at: HashMap<i64, usize>,
}

impl ById {
    fn new(rows: SelectedRows) -> Result<ById> {
        rows.value.data::<f32>().map_err(in_table)?;
        let at = rows.rows.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        Ok(ById { rows, at })
    }

    fn get(&self, id: i64, width: usize) -> Option<&[f32]> {
        let at = *self.at.get(&id)?;
        self.rows.value.data::<f32>().ok()?.get(at * width..(at + 1) * width)
    }
}

/// Takes rows out of a scope, if there are some.
fn take_rows(scope: &Scope, name: &Name) -> Option<SelectedRows> {
    let var = scope.find(name)?;
    let value = std::mem::take(&mut *var.write());
    match value {
        Value::Rows(rows) => Some(rows),
        other => {
            *var.write() = other;
            None
        }
    }
}

fn in_table(e: oarlock_tensor::Error) -> Error {
    Error::new(Kind::Range, e.to_string())
}

impl Table {
    /// The weights of all rows, or one of their states.
    fn copy(&self, state: Option<usize>, into: &mut Value) -> Result<()> {
        self.copy_from(state, 0, u64::MAX, into).map(drop)
    }

    fn copy_from(&self, state: Option<usize>, from: usize, enough: u64, into: &mut Value) -> Result<usize> {
        let width = self.rows.spec().width;
        let (mut ids, mut data, mut shard) = (Vec::new(), Vec::new(), from);
        while shard < SHARDS && (shard == from || (ids.len() * (8 + 4 * width)) as u64 <= enough) {
            let visit = |id: i64, _: Header, weights: &[f32], states: &[f32]| {
                ids.push(id);
                data.extend_from_slice(state.map_or(weights, |at| &states[at * width..(at + 1) * width]));
            };
            self.rows.for_each_row(shard, visit).map_err(in_table)?;
            shard += 1;
        }
        let rows = into.rows_mut();
        rows.height = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        rows.value = Tensor::from_slice([ids.len(), width], &data).map_err(in_table)?;
        rows.rows = ids;
        Ok(shard)
    }

    /// A step that touches no row of this server is a step all the same: what counts steps, such as powers of beta, goes on. The
    /// block runs on a row of zeros that is in no table.
    fn pass_step(&self, of: &[usize], grads: &mut [Value], rates: Option<&Scope>) -> Result<()> {
        let mut update = self.update.lock();
        lend(rates, &update.scope)?;
        let spec = self.rows.spec();
        set(&update.scope, &update.param, 1, update.width, &vec![0.0; update.width]);
        for (name, state) in update.states.iter().zip(&spec.state) {
            set(&update.scope, name, 1, state.width, &vec![0.0; state.width]);
        }
        let mut zeros = Vec::new();
        for _ in grads.iter() {
            let value = Tensor::zeros(DType::F32, [1, update.width]);
            zeros.push(Value::Rows(SelectedRows { rows: vec![0], height: 1, value }));
        }
        update.ids = vec![0];
        update.lend_gradients(&self.from, of, &mut zeros);
        let run = update.run(&self.from, of);
        update.return_gradients(&self.from, of, &mut zeros);
        update.count(&self.rows);
        run
    }

    fn apply(&self, of: &[usize], grads: &mut [Value], rates: Option<&Scope>) -> Result<()> {
        let mut update = self.update.lock();
        lend(rates, &update.scope)?;
        update.collect_ids(grads, grad_width(self.rows.spec()))?;
        if update.ids.is_empty() {
            update.count(&self.rows);
            return Ok(());
        }
        update.collect_shows(grads, self.rows.spec())?;
        update.take(&self.rows)?;
        update.lend_gradients(&self.from, of, grads);
        let run = update.run(&self.from, of);
        update.return_gradients(&self.from, of, grads);
        run?;
        update.put(&self.rows)
    }
}

impl RowUpdate {
    /// The ids that gradients list, each once, ascending.
    fn collect_ids(&mut self, grads: &[Value], width: usize) -> Result<()> {
        self.ids.clear();
        for grad in grads {
            let rows =
                grad.rows().map_err(|e| Error::new(Kind::Argument, format!("the gradient of `{}` {e}", self.param)))?;
            if rows.value.numel() != rows.rows.len() * width {
                let what = format!(
                    "a gradient of `{}` lists {} rows and holds {}, but rows have {width} elements",
                    self.param,
                    rows.rows.len(),
                    rows.value.dims(),
                );
                return Err(Error::new(Kind::Shape, what));
            }
            self.ids.extend_from_slice(&rows.rows);
        }
        self.ids.sort_unstable();
        self.ids.dedup();
        Ok(())
    }

    /// Takes the rows and their state out of the table, into the scope of the block.
    fn take(&mut self, table: &HashedTable) -> Result<()> {
        let (count, spec) = (self.ids.len(), table.spec());
        self.weights.resize(count * self.width, 0.0);
        self.state.resize(count * spec.state_width(), 0.0);
        table.take(&self.ids, &mut self.weights, &mut self.state).map_err(in_table).map(drop)?;
        set(&self.scope, &self.param, count, self.width, &self.weights);
        let mut at = 0;
        for (name, state) in self.states.iter().zip(&spec.state) {
            let len = count * state.width;
            set(&self.scope, name, count, state.width, &self.state[at..at + len]);
            at += len;
        }
        Ok(())
    }

    /// How often rows were shown: what all trainers counted, which follows the gradients and is cut off there. Otherwise an update
    /// of a row is one show.
    fn collect_shows(&mut self, grads: &mut [Value], spec: &Spec) -> Result<()> {
        self.shown.clear();
        if grad_width(spec) == self.width {
            self.shown.resize(self.ids.len(), Shown { show: 1.0, click: 0.0 });
            return Ok(());
        }
        self.shown.resize(self.ids.len(), Shown::default());
        for grad in grads {
            let Value::Rows(rows) = grad else { continue };
            let wide = rows.value.data::<f32>().map_err(in_table)?.chunks_exact(self.width + SHOWN);
            let mut narrow = Vec::with_capacity(rows.rows.len() * self.width);
            for (id, row) in rows.rows.iter().zip(wide) {
                narrow.extend_from_slice(&row[..self.width]);
                // Every listed id is among them.
                let Ok(at) = self.ids.binary_search(id) else { continue };
                self.shown[at].show += row[self.width];
                self.shown[at].click += row[self.width + 1];
            }
            rows.value = Tensor::from_slice([rows.rows.len(), self.width], &narrow).map_err(in_table)?;
        }
        Ok(())
    }

    /// One more update of the table is made: rows go that are not kept any longer.
    fn count(&mut self, table: &HashedTable) {
        self.step = self.step.saturating_add(1);
        table.sweep(self.step);
    }

    fn put(&mut self, table: &HashedTable) -> Result<()> {
        let (spec, now) = (table.spec(), self.step.saturating_add(1));
        get(&self.scope, &self.param, &mut self.weights)?;
        let mut at = 0;
        for (name, state) in self.states.iter().zip(&spec.state) {
            let len = self.ids.len() * state.width;
            get(&self.scope, name, &mut self.state[at..at + len])?;
            at += len;
        }
        table.count_shows(&self.ids, now, |at| self.shown[at]).map_err(in_table)?;
        table.put(&self.ids, now, &self.weights, &self.state).map_err(in_table)?;
        self.count(table);
        Ok(())
    }

    /// Gradients name rows by their place among those that were taken out.
    fn lend_gradients(&self, from: &[Name], of: &[usize], grads: &mut [Value]) {
        for (trainer, grad) in of.iter().zip(grads) {
            if let Value::Rows(rows) = grad {
                renumber(rows, &self.ids);
            }
            if let Some(name) = from.get(*trainer) {
                std::mem::swap(&mut *self.scope.var(name).write(), grad);
            }
        }
    }

    fn return_gradients(&self, from: &[Name], of: &[usize], grads: &mut [Value]) {
        for (trainer, grad) in of.iter().zip(grads) {
            if let Some(name) = from.get(*trainer) {
                std::mem::swap(&mut *self.scope.var(name).write(), grad);
            }
        }
    }

    fn run(&mut self, from: &[Name], of: &[usize]) -> Result<()> {
        self.runner.run_of(&self.scope, from, of)
    }
}

fn renumber(rows: &mut SelectedRows, ids: &[i64]) {
    rows.height = ids.len() as i64;
    for row in &mut rows.rows {
        // Every listed id is among them.
        *row = ids.binary_search(row).map_or(0, |at| at as i64);
    }
}

fn set(scope: &Scope, name: &Name, rows: usize, width: usize, data: &[f32]) {
    let var = scope.var(name);
    let mut value = var.write();
    let tensor = value.dense_mut();
    tensor.resize(DType::F32, Dims::from([rows, width]));
    if let Ok(to) = tensor.data_mut::<f32>() {
        to.copy_from_slice(data);
    }
}

fn get(scope: &Scope, name: &Name, into: &mut [f32]) -> Result<()> {
    let var = scope.var(name);
    let value = var.read();
    let data = value.dense().and_then(Tensor::data::<f32>);
    match data {
        Ok(data) if data.len() == into.len() => {
            into.copy_from_slice(data);
            Ok(())
        }
        Ok(data) => {
            Err(Error::internal(format!("an update left `{name}` with {} elements, not {}", data.len(), into.len())))
        }
        Err(e) => Err(Error::new(Kind::DType, format!("`{name}` {e}"))),
    }
}

/// The parameter that a block updates and its state, if these are rows of a table.
fn row_variables(block: &Program, grad: &Name) -> Option<(Name, Vec<Name>)> {
    let is_rows = |name: &Name| block.global().var(name).is_some_and(|v| v.kind == VarKind::SelectedRows);
    let op = block.global().ops.iter().rev().find(|op| op.outputs.has("ParamOut"))?;
    let param = op.inputs.get("Param").first().filter(|name| is_rows(name))?.clone();
    let state = op.inputs.iter().filter(|(slot, _)| **slot != "Param" && **slot != "Grad").flat_map(|(_, names)| names);
    let state = state.filter(|name| is_rows(name) && *name != grad).cloned().collect();
    Some((param, state))
}

/// The block over tensors of the rows that were taken out.
fn as_tensors(mut block: Program, param: &Name, states: &[Name], grad: &Name, width: usize) -> Program {
    for name in states.iter().chain([param]) {
        if let Some(var) = block.global_mut().vars.get_mut(name) {
            var.kind = VarKind::Tensor;
            var.shape.0 = vec![Dim::Any, Dim::Is(width)];
        }
    }
    if merged_from(&block, grad).is_some()
        && let Some(var) = block.global_mut().vars.get_mut(grad)
    {
        // The mean lives only while the block runs.
        var.persistable = false;
    }
    block
}

fn spec(program: &Program, param: &Name, states: &[Name], initial: &Initial) -> Result<Spec> {
    let var = program.expect_var(0, param)?;
    let sizes: Vec<Option<usize>> = var.shape.iter().map(|d| d.known()).collect();
    let width =
        sizes.iter().skip(1).try_fold(1, |all, size| Some(all * (*size)?)).filter(|w| *w > 0).ok_or_else(|| {
            Error::new(Kind::Shape, format!("table `{param}` is declared {}, without the size of its rows", var.shape))
        })?;
    let state = states.iter().map(|name| State { width, initial: initial.constant(name) }).collect();
    let (init, seed) = initial.row(param);
    let RowPolicy { admission, retention } = rules(program, param)?;
    Ok(Spec {
        name: param.to_string(),
        width,
        state,
        init,
        seed,
        max_rows: sizes[0].map(|rows| rows as u64),
        admission,
        retention,
        history: 0,
    })
}

/// Which ids get a row and which rows go, as the program says.
fn rules(program: &Program, table: &Name) -> Result<RowPolicy> {
    let mut lookups = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| op.op_type == "lookup_sparse_table");
    let op = lookups.find(|op| op.inputs.get("W").contains(table));
    let text = |name: &str| match op.and_then(|op| op.attrs.get(name)) {
        Some(Attr::String(text)) => text.as_str(),
        _ => "",
    };
    let rules = RowPolicy::parse(text("entry"), text("evict"));
    rules.map_err(|why| Error::new(Kind::Argument, format!("table `{table}`: {why}")))
}

/// How many numbers a gradient has for each row.
fn grad_width(spec: &Spec) -> usize {
    let told = spec.retention.score.is_some_and(|score| score.told);
    if told { spec.width + SHOWN } else { spec.width }
}

/// How rows start, as the program says: `variable:operator&attribute=value&...`.
struct Initial(HashMap<String, (String, HashMap<String, f64>)>);

impl Initial {
    fn of(program: &Program) -> Initial {
        let lookups = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| op.op_type == "lookup_sparse_table");
        let mut found = HashMap::new();
        for op in lookups {
            let Some(Attr::Strings(texts)) = op.attrs.get("initializer") else { continue };
            for (variable, how) in texts.iter().filter_map(|text| text.split_once(':')) {
                let mut parts = how.split('&');
                let operator = parts.next().unwrap_or_default().to_string();
                let number =
                    |part: &str| part.split_once('=').and_then(|(n, v)| Some((n.to_string(), v.parse().ok()?)));
                found.insert(variable.to_string(), (operator, parts.filter_map(number).collect()));
            }
        }
        Initial(found)
    }

    fn row(&self, name: &Name) -> (RowInit, u64) {
        let Some((operator, attrs)) = self.0.get(name.as_str()) else { return (RowInit::Constant(0.0), 0) };
        let get = |attr: &str, default: f64| attrs.get(attr).copied().unwrap_or(default) as f32;
        let init = match operator.as_str() {
            "uniform_random" => RowInit::Uniform { min: get("min", -1.0), max: get("max", 1.0) },
            "gaussian_random" => RowInit::Gaussian { mean: get("mean", 0.0), std: get("std", 1.0) },
            "truncated_gaussian_random" => RowInit::TruncatedGaussian { mean: get("mean", 0.0), std: get("std", 1.0) },
            _ => RowInit::Constant(get("value", 0.0)),
        };
        (init, attrs.get("seed").copied().unwrap_or(0.0) as u64)
    }

    fn constant(&self, name: &Name) -> f32 {
        self.0.get(name.as_str()).and_then(|(_, attrs)| attrs.get("value").copied()).unwrap_or(0.0) as f32
    }
}
