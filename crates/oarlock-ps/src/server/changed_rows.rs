//! The rows of a table that other trainers changed since a trainer last pulled: GEO trainers fetch these instead of whole tables.

use std::collections::HashMap;

use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_net::codec::{Reader, Writer};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use super::ServerMode;
use super::updates::Updates;
use crate::request::pull::rows_in;
use crate::rowset::RowSet;

/// Changed rows by table and trainer.
pub(crate) struct ChangedRows {
    trainers: usize,
    tables: Mutex<HashMap<Name, Vec<Unread>>>,
}

/// The rows that one trainer has not fetched yet.
#[derive(Default)]
struct Unread {
    rows: RowSet,
    /// The last reply, until the next request shows that it arrived: its number and its rows.
    sent: Option<(u64, Vec<i64>)>,
}

impl ChangedRows {
    pub(super) fn new(trainers: usize) -> ChangedRows {
        ChangedRows { trainers, tables: Mutex::default() }
    }

    /// Records a delta that was added: its rows have been found to exist. Its sender need not fetch them, because it added the same,
    /// unless it sent them `rounded`.
    pub(crate) fn record(&self, updates: &Updates, (sender, rounded): (usize, bool), name: &str, value: &Value) {
        let Value::Rows(delta) = value else { return };
        if updates.mode != ServerMode::Geo {
            return;
        }
        let Some(param) = updates.param_of(name) else { return };
        let mut tables = self.tables.lock();
        let unread = tables.entry(param.clone()).or_default();
        unread.resize_with(self.trainers, Unread::default);
        for (_, unread) in unread.iter_mut().enumerate().filter(|(trainer, _)| rounded || *trainer != sender) {
            delta.rows.iter().filter_map(|row| usize::try_from(*row).ok()).for_each(|row| unread.rows.mark(row));
        }
    }

    /// Writes it to a snapshot of the server's log. Rows of a reply that may not have arrived count as not fetched.
    pub(super) fn save(&self, to: &mut Writer) {
        let tables = self.tables.lock();
        let mut names: Vec<&Name> = tables.keys().collect();
        names.sort_unstable();
        to.list(&names, |to, name| {
            to.str(name);
            to.list(&tables[*name], |to, unread| {
                let sent = unread.sent.iter().flat_map(|(_, rows)| rows).copied();
                let rows: Vec<i64> = unread.rows.marked().chain(sent).collect();
                to.list(&rows, |to, row| {
                    to.i64(*row);
                });
            });
        });
    }

    /// Reads one that was written.
    pub(super) fn load(&self, from: &mut Reader<'_>) -> Result<()> {
        let saved = from.list(|from| {
            let name = Name::from(from.str()?);
            Ok((name, from.list(|from| from.list(Reader::i64))?))
        })?;
        let mut tables = self.tables.lock();
        for (name, trainers) in saved {
            let unread = tables.entry(name).or_default();
            unread.resize_with(self.trainers, Unread::default);
            for (unread, rows) in unread.iter_mut().zip(trainers) {
                rows.iter().filter_map(|row| usize::try_from(*row).ok()).for_each(|row| unread.rows.mark(row));
            }
        }
        Ok(())
    }

    /// The rows that changed since this trainer asked last, with their values, as many as fit into `bytes`. Request `id` may be a
    /// duplicate.
    pub(crate) fn rows_for(
        &self,
        updates: &Updates,
        (trainer, id): (usize, u64),
        table: &str,
        bytes: u64,
        into: &mut Value,
    ) -> Result<()> {
        if trainer >= self.trainers {
            return Err(Error::new(Kind::Range, format!("there is no trainer {trainer} of {}", self.trainers)));
        }
        let missing = || Error::new(Kind::Missing, format!("server {} has no table `{table}`", updates.endpoint));
        let var = updates.scope.find(table).ok_or_else(missing)?;
        let value = var.read();
        let whole = value.dense().map_err(|_| missing())?;
        let most = rows_in(bytes, whole.dims().matrix(1).1);
        let rows = {
            let mut tables = self.tables.lock();
            let unread = tables.entry(table.into()).or_default();
            unread.resize_with(self.trainers, Unread::default);
            let unread = &mut unread[trainer];
            let lost = unread.sent.take().filter(|(of, _)| *of == id).map(|(_, rows)| rows).unwrap_or_default();
            lost.iter().for_each(|row| unread.rows.mark(*row as usize));
            let rows = unread.rows.take_some(most);
            unread.sent = Some((id, rows.clone()));
            rows
        };
        select_rows(whole, rows, into).map_err(|e| Error::new(Kind::DType, format!("table `{table}` {e}")))
    }
}

fn select_rows(whole: &Tensor, rows: Vec<i64>, into: &mut Value) -> oarlock_tensor::Result<()> {
    let (height, width) = whole.dims().matrix(1);
    let data = whole.data::<f32>()?;
    let found: Vec<i64> = rows.into_iter().filter(|row| (*row as usize) < height).collect();
    let selected = into.rows_mut();
    selected.height = height as i64;
    selected.value.resize(whole.dtype(), whole.dims().with_rows(found.len()));
    let to = selected.value.data_mut::<f32>()?;
    for (row, to) in found.iter().zip(to.chunks_mut(width.max(1))) {
        to.copy_from_slice(&data[*row as usize * width..][..width]);
    }
    selected.rows = found;
    Ok(())
}
