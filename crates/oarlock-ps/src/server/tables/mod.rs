//! Hashed embedding tables of a server: rows are created on first use and updated by a block of the program.
//!
//! An update takes the rows that gradients list out of the table, with their optimizer state, as ordinary tensors; the block
//! runs on these, and then they are put back. So any optimizer that works row by row works on a table.

mod restore;
mod row_update;
mod snapshot;
mod spec;

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Error, Kind, Name, Op, Program, Result, Runtime};
use oarlock_net::codec::{Reader, Writer};
use oarlock_tensor::table::{HashedTable, Header, Missing, SHARDS, Shown};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use super::evict::Calls;
use super::row_limit::RowLimit;
use super::updates::{Runner, grad_to_block, lower, merged_from};
use crate::protocol::damaged;
use crate::request::evict::Stale;
use crate::request::tables::ServedTable;
use restore::restore;
pub(crate) use snapshot::SnapshotTable;
use spec::{Initial, as_tensors, grad_width, row_variables, spec};

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
    /// The gradients of trainers for the step under way.
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
    /// Of a server's program, one of `servers` servers.
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

    /// The tables whose rows can be looked up.
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

    /// The variables that trainers send.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().flat_map(|t| &t.from).map(Name::as_str)
    }

    /// The variables that a trainer must send in every step of synchronous training.
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

    /// Rows of a table; those that do not exist are made, or zero for a reader. True if some did not exist, and this is no reader.
    pub(crate) fn read(&self, table: &str, ids: &[i64], read_only: bool, into: &mut Vec<f32>) -> Result<bool> {
        let Some(table) = self.by_name.get(table).map(|at| &self.tables[*at]) else { return Ok(false) };
        let width = table.rows.spec().width;
        into.clear();
        into.resize(ids.len() * width, 0.0);
        let missing = if read_only { Missing::Zero } else { Missing::Create };
        let report = table.rows.read(ids, into, missing).map_err(|e| table.limit.explain(e))?;
        Ok(!read_only && (report.created > 0 || report.missing > 0))
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

    /// Evicts stale rows from all tables; returns how many.
    pub(crate) fn evict(&self, stale: Stale) -> u64 {
        let all = self.tables.iter().map(|table| {
            let updates = table.update.lock().step;
            table.evictions.evict(&table.rows, updates, stale)
        });
        all.sum()
    }

    /// Writes what no variable has to a snapshot of the server's log: the calls to evict rows.
    pub(crate) fn save_calls(&self, to: &mut Writer) {
        to.list(&self.tables, |to, table| table.evictions.save(to));
    }

    /// Reads what was written.
    pub(crate) fn load_calls(&self, from: &mut Reader<'_>) -> Result<()> {
        let mut tables = self.tables.iter();
        from.list(|from| match tables.next() {
            Some(table) => table.evictions.load(from),
            None => Err(damaged("more tables than the program has")),
        })
        .map(drop)
    }

    /// A line about each table: rows and memory.
    pub(crate) fn report(&self) -> impl Iterator<Item = String> {
        self.tables.iter().map(|t| t.rows.memory().to_string())
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
}
