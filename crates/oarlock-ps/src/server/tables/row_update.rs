//! The update of rows: they are taken out of the table as ordinary tensors with their optimizer state, the block runs on these, and they are
//! put back.

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::table::{HashedTable, SHOWN, Shown, Spec};
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value};

use super::spec::grad_width;
use super::{RowUpdate, Table, in_table};
use crate::server::lr_schedule::copy_rates;

impl Table {
    /// A step that touches no row of this server is a step all the same: what counts steps, such as powers of beta, goes on. The
    /// block runs on a row of zeros that is in no table.
    pub(super) fn pass_step(&self, of: &[usize], grads: &mut [Value], rates: Option<&Scope>) -> Result<()> {
        let mut update = self.update.lock();
        copy_rates(rates, &update.scope)?;
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

    pub(super) fn apply(&self, of: &[usize], grads: &mut [Value], rates: Option<&Scope>) -> Result<()> {
        let mut update = self.update.lock();
        copy_rates(rates, &update.scope)?;
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

    /// How often rows were shown: what all trainers counted, which follows the gradients and is split off there. Otherwise an update
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
