//! Restores the rows of a table from a checkpoint that was loaded into the scope before the server started.

use std::collections::HashMap;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::table::{AdmissionState, HashedTable, Header, Shown};
use oarlock_tensor::{SelectedRows, Value};

use super::in_table;
use crate::checkpoint::{CLOCK, HEADER, ROW, SHOWS, TOSSES, WAITING, headers_of};
use crate::server::row_limit::RowLimit;

/// Puts rows that were loaded before the server started into its table: weights, states and headers as far as they were loaded.
/// Returns how many updates the table had seen.
pub(super) fn restore(
    table: &HashedTable,
    limit: RowLimit,
    scope: &Scope,
    param: &Name,
    states: &[Name],
) -> Result<u32> {
    let known = Known::take(scope, param);
    table.set_admission_state(&known.admission);
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

/// The loaded headers of a table: the age and counts of its rows.
#[derive(Default)]
struct Known {
    headers: HashMap<i64, Header>,
    shows: HashMap<i64, Shown>,
    admission: AdmissionState,
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
                WAITING => known.admission.waiting.push((line[1], header)),
                SHOWS => {
                    let [show, click] = [2, 3].map(|at| f32::from_bits(number(at)));
                    known.shows.insert(line[1], Shown { show, click });
                }
                CLOCK => known.step = known.step.max(header.last),
                TOSSES => known.admission.tosses.push((line[1] as usize, line[3] as u64)),
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
