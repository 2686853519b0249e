//! How a batch goes through a table: grouped by shard, memory asked for ahead, shared out to threads.

use std::ops::Range;
use std::sync::atomic::Ordering;

use parking_lot::{Mutex, MutexGuard};

use super::arena::{Header, Shown, floats, floats_mut};
use super::batch::{Batch, Entry, WINDOW};
use super::index::SLOTS;
use super::shard::Shard;
use super::{Admission, Column, HashedTable, Report, SHARDS};
use crate::{Error, Pool, Result};

/// The largest number of shards that a call locks at a time, in ascending order.
const LOCKS: usize = 32;

/// The approximate number of ids of a part; a call is split into at most [`PARTS`], which threads share.
const PART: usize = 1024;
const PARTS: usize = 32;

/// The treatment of an id without a row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Absent {
    /// Nothing.
    Leave,
    /// Make it, if all ids get rows.
    Make,
    /// Count it as seen, and make it if it is admitted.
    Admit,
}

impl HashedTable {
    /// Copies columns of rows to `parts`, one part per column.
    pub(super) fn gather(
        &self,
        pool: &Pool,
        ids: &[i64],
        absent: Absent,
        mut parts: Vec<&mut [f32]>,
    ) -> Result<Report> {
        let _batch = self.fence.read();
        self.grouped(ids, |batch| {
            if absent == Absent::Make {
                self.make_room(batch)?;
            }
            let tasks = tasks(batch.len());
            if pool.threads() == 1 || tasks == 1 {
                let mut fresh = self.fresh(absent);
                return self.visit(batch, 0..SHARDS, absent, |shard, e, slot| {
                    let row = self.row_or_start(shard, e.id, slot, absent, &mut fresh);
                    for (column, part) in self.columns.iter().zip(&mut parts) {
                        let to = &mut part[e.at as usize * column.width..][..column.width];
                        to.copy_from_slice(&row[column.start..][..column.width]);
                    }
                });
            }
            let mut places = self.places(batch, parts);
            let per_row = places.len() / batch.len();
            let mut rest = &mut places[..];
            let works = ranges(tasks).map(|range| {
                let (own, more) = std::mem::take(&mut rest).split_at_mut(batch.of(range).len() * per_row);
                rest = more;
                (own.chunks_exact_mut(per_row), self.fresh(absent))
            });
            self.visit_on(pool, batch, absent, works, |(own, fresh), shard, e, slot| {
                let row = self.row_or_start(shard, e.id, slot, absent, fresh);
                for (column, to) in self.columns.iter().zip(own.next().into_iter().flatten()) {
                    to.copy_from_slice(&row[column.start..][..column.width]);
                }
            })
        })
    }

    /// Where the columns of each row of a batch go, in the batch's order, so that threads can share them out.
    fn places<'a>(&self, batch: &Batch, parts: Vec<&'a mut [f32]>) -> Vec<&'a mut [f32]> {
        let by_position = |(column, part): (&Column, &'a mut [f32])| {
            part.chunks_exact_mut(column.width).map(Some).collect::<Vec<_>>()
        };
        let mut parts: Vec<_> = self.columns.iter().zip(parts).map(by_position).collect();
        let mut places = Vec::with_capacity(batch.len() * parts.len());
        for e in batch.of(0..SHARDS) {
            // Each position is in the batch once.
            places.extend(parts.iter_mut().map(|part| part[e.at as usize].take().unwrap_or_default()));
        }
        places
    }

    /// Changes rows: `f` gets a position in `ids` and the elements of that row.
    pub(super) fn change(
        &self,
        pool: &Pool,
        ids: &[i64],
        now: u32,
        f: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<Report> {
        let _batch = self.fence.read();
        self.grouped(ids, |batch| {
            self.make_room(batch)?;
            self.clock.fetch_max(now, Ordering::Relaxed);
            let works = std::iter::repeat_n((), PARTS);
            self.visit_on(pool, batch, Absent::Make, works, |(), shard, e, slot| {
                write(shard, e, slot, now, |row| f(e.at as usize, row));
            })
        })
    }

    /// The elements of a row; without a slot, what the row would start from or zeros, written to `fresh`.
    #[inline]
    fn row_or_start<'a>(
        &self,
        shard: &'a Shard,
        id: i64,
        slot: Option<u32>,
        absent: Absent,
        fresh: &'a mut [f32],
    ) -> &'a [f32] {
        match slot {
            Some(slot) => floats(shard.row(slot)),
            None if absent == Absent::Leave => fresh,
            None => {
                self.initial.weights(id, &mut fresh[..self.spec.width]);
                fresh
            }
        }
    }

    /// A row that is not in the table: zeros, or what rows start from without their weights.
    fn fresh(&self, absent: Absent) -> Vec<f32> {
        let mut row = vec![0.0; self.spec.width + self.spec.state_width()];
        if absent != Absent::Leave {
            row[self.spec.width..].copy_from_slice(&self.initial.state);
        }
        row
    }

    /// Groups ids in memory of an earlier call.
    pub(super) fn grouped<R>(&self, ids: &[i64], work: impl FnOnce(&Batch) -> Result<R>) -> Result<R> {
        if u32::try_from(ids.len()).is_err() {
            return Err(self.spec.error(format!("{} ids are too many for one call; split them", ids.len())));
        }
        let mut batch = self.batches.lock().pop().unwrap_or_default();
        batch.group(ids);
        let result = work(&batch);
        self.batches.lock().push(batch);
        result
    }

    /// If the table might become full, makes the rows of a batch before anything is written: an error then leaves no half of it.
    pub(super) fn make_room(&self, batch: &Batch) -> Result<()> {
        if self.spec.max_rows.is_some_and(|limit| self.len() + batch.len() as u64 > limit) {
            self.visit(batch, 0..SHARDS, Absent::Make, |_, _, _| {})?;
        }
        Ok(())
    }

    /// Calls `act` for the entries of some shards, in their order, with the shard and the slot, if there is or should be one.
    ///
    /// Some dozens of entries are dealt with at a time: their shards are locked, their part of the index is asked for, then
    /// their rows, and when `act` needs them they are there.
    pub(super) fn visit(
        &self,
        batch: &Batch,
        shards: Range<usize>,
        absent: Absent,
        mut act: impl FnMut(&mut Shard, &Entry, Option<u32>),
    ) -> Result<Report> {
        let mut report = Report::default();
        let mut pieces = batch.pieces(shards);
        let mut window: Vec<(MutexGuard<'_, Shard>, &[Entry])> = Vec::with_capacity(LOCKS);
        let mut likely: Vec<Option<u32>> = Vec::with_capacity(2 * WINDOW);
        loop {
            let mut entries = 0;
            // Only a shard's last piece is short, so no shard can be in a window twice.
            while entries < WINDOW
                && window.len() < LOCKS
                && let Some((shard, piece)) = pieces.next()
            {
                entries += piece.len();
                window.push((self.enter(shard), piece));
            }
            if window.is_empty() {
                return Ok(report);
            }
            for (shard, piece) in &window {
                piece.iter().for_each(|e| shard.prefetch_index(e.id));
            }
            likely.clear();
            for (shard, piece) in &window {
                likely.extend(piece.iter().map(|e| shard.likely_slot(e.id)));
            }
            let mut slots = likely.iter();
            for (shard, piece) in &window {
                slots.by_ref().take(piece.len()).for_each(|slot| shard.prefetch_row(*slot));
            }
            for (shard, piece) in &mut window {
                for e in *piece {
                    let slot = match shard.find(e.id) {
                        Some(slot) => Some(slot),
                        None => self.absent(shard, e.id, absent, &mut report)?,
                    };
                    act(shard, e, slot);
                }
            }
            window.clear();
        }
    }

    /// Locks a shard for a batch, which holds `fence`.
    pub(super) fn enter(&self, shard: usize) -> MutexGuard<'_, Shard> {
        let mut shard = self.shards[shard].0.lock();
        shard.enter_step(self.step.load(Ordering::Relaxed));
        shard
    }

    /// [`HashedTable::visit`] of all shards with the threads of a pool; each part of the work gets one of `works`.
    fn visit_on<W: Send>(
        &self,
        pool: &Pool,
        batch: &Batch,
        absent: Absent,
        works: impl Iterator<Item = W> + Send,
        act: impl Fn(&mut W, &mut Shard, &Entry, Option<u32>) + Sync,
    ) -> Result<Report> {
        let tasks = tasks(batch.len());
        let total = Mutex::new(Ok(Report::default()));
        pool.each(tasks, ranges(tasks).zip(works), |(range, mut work)| {
            let found = self.visit(batch, range, absent, |shard, e, slot| act(&mut work, shard, e, slot));
            let mut total = total.lock();
            match (total.as_mut(), found) {
                (Ok(total), Ok(found)) => {
                    total.created += found.created;
                    total.missing += found.missing;
                }
                (Ok(_), Err(error)) => *total = Err(error),
                (Err(_), _) => {}
            }
        });
        total.into_inner()
    }

    /// Makes row `id` if it should be made.
    fn absent(&self, shard: &mut Shard, id: i64, absent: Absent, report: &mut Report) -> Result<Option<u32>> {
        let now = self.clock.load(Ordering::Relaxed);
        let make = match (absent, self.spec.admission) {
            (Absent::Leave, _) => false,
            (_, Admission::Always) => true,
            (Absent::Make, _) => false,
            (Absent::Admit, Admission::Count(times)) => shard.seen(id, now) >= times,
            (Absent::Admit, Admission::Probability(p)) => self.initial.coin(id, shard.toss(), p),
        };
        if !make {
            report.missing += 1;
            return Ok(None);
        }
        self.count_row()?;
        let header = Header { last: now, ..Header::default() };
        let slot = shard.add(id, header, &self.blocks).ok_or_else(|| self.shard_full())?;
        let row = shard.new_row(slot);
        let (weights, state) = self.parts_mut(row);
        self.initial.weights(id, weights);
        state.copy_from_slice(&self.initial.state);
        self.set_shown(row, Shown::default());
        report.created += 1;
        Ok(Some(slot))
    }

    /// Counts one more row, unless the table is full.
    pub(super) fn count_row(&self) -> Result<()> {
        let limit = self.spec.max_rows.unwrap_or(u64::MAX);
        let more = |rows| (rows < limit).then(|| rows + 1);
        let counted = self.rows.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.map(|_| ()).map_err(|limit| Error::TableFull { table: self.spec.name.clone(), limit })
    }

    /// A shard can have no more rows: takes back that one was counted, and says so.
    pub(super) fn shard_full(&self) -> Error {
        self.rows.fetch_sub(1, Ordering::Relaxed);
        self.spec.error(format!("one of its shards holds {SLOTS} rows, which is the most; spread ids evenly"))
    }

    pub(super) fn same(&self, what: &str, need: usize, found: usize) -> Result<()> {
        if need == found {
            return Ok(());
        }
        Err(self.spec.error(format!("the ids need {need} {what}, but {found} are given")))
    }

    pub(super) fn same_parts(&self, ids: &[i64], weights: &[f32], state: &[f32]) -> Result<()> {
        self.same("weights", ids.len() * self.spec.width, weights.len())?;
        self.same("elements of state", ids.len() * self.spec.state_width(), state.len())
    }
}

/// Changes one row, if it is there.
#[inline]
pub(super) fn write(shard: &mut Shard, e: &Entry, slot: Option<u32>, now: u32, f: impl FnOnce(&mut [f32])) {
    if let Some(slot) = slot {
        f(floats_mut(shard.update(e.id, slot, now)));
    }
}

/// The number of parts into which a call of `ids` ids is split. By size alone: nothing depends on the number of threads.
fn tasks(ids: usize) -> usize {
    (ids / PART).clamp(1, PARTS)
}

/// The shards in `parts` ranges.
fn ranges(tasks: usize) -> impl Iterator<Item = Range<usize>> + Send {
    (0..tasks).map(move |i| i * SHARDS / tasks..(i + 1) * SHARDS / tasks)
}
