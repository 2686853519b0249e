//! Snapshots of tables: rows, optimizer states and headers as they were at the snapshot fence, in files of some shards each.

use oarlock_ir::{Name, Result};
use oarlock_tensor::table::{AdmissionState, Header, SHARDS, Shown};
use oarlock_tensor::{SelectedRows, Tensor, Value};

use super::{Table, Tables, in_table};
use crate::checkpoint::{CLOCK, HEADER, ROW, SHOWS, TOSSES, WAITING, headers_of};

impl Tables {
    /// Sets a snapshot fence in all tables: [`Tables::read_snapshot`] reads them as they are now.
    pub(crate) fn begin_snapshot(&self, number: u64) -> Result<Vec<SnapshotTable>> {
        for table in &self.tables {
            if let Err(e) = table.rows.begin_snapshot(number) {
                self.end_snapshot();
                return Err(in_table(e));
            }
        }
        let snapshot = |(at, table): (usize, &Table)| {
            let clock = table.update.lock().step;
            SnapshotTable { at, admission: table.rows.admission_state(), clock }
        };
        Ok(self.tables.iter().enumerate().map(snapshot).collect())
    }

    /// Passes the rows of a table as they were at the snapshot fence to `take`, some shards at a time: weights, states and headers by name.
    pub(crate) fn read_snapshot(&self, snapshot: &SnapshotTable, take: &mut TakeRows<'_>) -> Result<()> {
        let table = &self.tables[snapshot.at];
        let names = {
            let update = table.update.lock();
            [std::slice::from_ref(&update.param), &update.states[..]].concat()
        };
        for group in 0..SNAPSHOT_GROUPS {
            let mut group_rows = GroupRows::new(names.len(), table.rows.spec().width);
            for shard in group * SHARDS / SNAPSHOT_GROUPS..(group + 1) * SHARDS / SNAPSHOT_GROUPS {
                table
                    .rows
                    .snapshot_shard(shard, |id, header, weights, states| group_rows.add(id, header, weights, states))
                    .map_err(in_table)?;
            }
            if !group_rows.ids.is_empty() {
                take(group, &group_rows.finish(&names)?)?;
            }
        }
        take(SNAPSHOT_GROUPS, &[(headers_of(&names[0]).into(), Value::Dense(headers(&snapshot.lines())?))])
    }

    /// Removes the snapshot fence.
    pub(crate) fn end_snapshot(&self) {
        self.tables.iter().for_each(|table| table.rows.end_snapshot());
    }
}

/// Takes rows of some shards: the number of their group, and variables by name.
pub(crate) type TakeRows<'a> = dyn FnMut(usize, &[(Name, Value)]) -> Result<()> + 'a;

/// A table whose snapshot is being written, and its admission state of ids without a row.
pub(crate) struct SnapshotTable {
    at: usize,
    admission: AdmissionState,
    /// Updates of the table.
    clock: u32,
}

impl SnapshotTable {
    /// Its lines among the headers.
    fn lines(&self) -> Vec<i64> {
        let waiting = self.admission.waiting.iter();
        let waiting = waiting.map(|(id, seen)| [WAITING, *id, i64::from(seen.last), i64::from(seen.count)]);
        let tosses = self.admission.tosses.iter().map(|(shard, count)| [TOSSES, *shard as i64, 0, *count as i64]);
        waiting.chain(tosses).chain([[CLOCK, 0, i64::from(self.clock), 0]]).flatten().collect()
    }
}

/// Lines of headers.
fn headers(lines: &[i64]) -> Result<Tensor> {
    Tensor::from_slice([lines.len() / HEADER, HEADER], lines).map_err(in_table)
}

/// The number of files of a table's variable in a checkpoint, so that only one of them is in memory at a time.
const SNAPSHOT_GROUPS: usize = 16;

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
