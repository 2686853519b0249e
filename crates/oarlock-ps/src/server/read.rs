//! Reading variables and rows of tables for a reply: as they are now, or as they were before the last step.

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::Incoming;
use oarlock_tensor::{Value, simd};

use super::{ServerMode, Shared};
use crate::protocol::damaged;
use crate::request::hello::{Hello, Purpose};
use crate::request::lookup::Lookup;

impl Shared {
    /// Copies a variable of the server.
    pub(super) fn copy(&self, name: &str, into: &mut Value) -> Result<()> {
        if self.updates.tables.copy(name, into)? {
            return Ok(());
        }
        let var = self.updates.scope.find(name).ok_or_else(|| self.no_variable(name))?;
        let value = var.read();
        if value.is_empty() {
            return Err(self.no_variable(name));
        }
        into.copy_from(&value).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))
    }

    fn no_variable(&self, name: &str) -> Error {
        Error::new(Kind::Missing, format!("server {} has no variable `{name}`", self.updates.endpoint))
            .help("run the server's startup program before its main program, with the programs of one transpiler")
    }

    /// Copies a variable as it was after `after_step` steps.
    pub(crate) fn copy_after(&self, name: &str, after_step: u64, into: &mut Value) -> Result<()> {
        let done = self.state.lock().step_barrier.done();
        if after_step >= done || !self.pre_images.copy(name, after_step, done, into)? {
            self.copy(name, into)?;
        }
        Ok(())
    }

    /// Reads rows of a table; true if that made rows, or counted for their admission.
    pub(crate) fn read_rows(&self, table: &str, ids: &[i64], lookup: &Lookup, into: &mut Vec<f32>) -> Result<bool> {
        if let Some(width) = self.updates.tables.width(table) {
            self.check_size(4 * (ids.len() * width) as u64)?;
            let done = self.state.lock().step_barrier.done();
            if !lookup.read_only && self.pre_images.has_rows_of(lookup.after_step, done) {
                return self.updates.tables.read_before_step(table, ids, into).map(|()| false);
            }
            return self.updates.tables.read(table, ids, lookup.read_only, into);
        }
        let var = self.updates.scope.find(table).ok_or_else(|| self.no_variable(table))?;
        let value = var.read();
        let tensor = value.dense().map_err(|e| Error::new(Kind::Argument, format!("table `{table}` {e}")))?;
        let data = tensor.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("table `{table}` {e}")))?;
        let (rows, width) = tensor.dims().matrix(1);
        self.check_size(4 * (ids.len() * width) as u64)?;
        into.clear();
        into.reserve(ids.len() * width);
        for (at, id) in ids.iter().enumerate() {
            if let Some(&soon) = ids.get(at + simd::AHEAD) {
                simd::prefetch(data, (soon as usize).saturating_mul(width), width);
            }
            let Some(row) = usize::try_from(*id).ok().filter(|row| *row < rows) else {
                let what = format!(
                    "row {id} of `{table}` is asked of server {}, which holds {rows} rows",
                    self.updates.endpoint
                );
                return Err(
                    Error::new(Kind::Range, what).help("trainers and servers must agree on the size of the table")
                );
            };
            into.extend_from_slice(&data[row * width..][..width]);
        }
        let done = self.state.lock().step_barrier.done();
        self.pre_images.overlay_rows(table, ids, lookup.after_step, done, width, into);
        Ok(false)
    }

    /// How many rows each of these tables has at this server, 0 for one that is not hashed.
    pub(crate) fn row_counts(&self, tables: &[String]) -> Vec<u64> {
        tables.iter().map(|table| self.updates.tables.rows(table).unwrap_or(0)).collect()
    }

    /// A trainer got parameters: the age of its next gradients counts from now.
    pub(crate) fn note_fetch(&self, hello: &Hello, only_rows: bool) {
        if self.updates.mode != ServerMode::Sync && hello.purpose == Purpose::Requests {
            self.state.lock().staleness.fetched(hello.trainer as usize, only_rows);
        }
    }
}

/// The ids of rows in a section of a request.
pub(crate) fn ids_of(frame: &Incoming, section: usize) -> Result<&[i64]> {
    let bytes = frame.section(section).ok_or_else(|| damaged("the ids of a lookup are missing"))?;
    bytemuck::try_cast_slice(bytes).map_err(|_| damaged("the ids of a lookup are truncated"))
}

/// The bytes of a value, as far as they matter for the size of a frame.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::Rows(rows) => (rows.value.bytes().len() + 8 * rows.rows.len()) as u64,
        other => other.dense().map_or(0, |tensor| tensor.bytes().len() as u64),
    }
}
