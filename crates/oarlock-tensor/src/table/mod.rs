//! Rows by id: the tables of parameter servers, whose rows are made when they are first asked for.
//!
//! A [`HashedTable`] maps any `i64` to a row of weights and optimizer state. It is cut into [`SHARDS`] shards by a mix of the id; a
//! shard has a lock, an index, its rows, and a count of its changes. Calls take many ids at once: they are grouped by shard, so
//! that a shard is locked once, and memory is asked for before it is needed. No reference to a row outlives a call.
//!
//! The table does arithmetic on rows only where it is told to, by a closure; it knows no optimizer, no file and no network.
//!
//! ```
//! use oarlock_tensor::table::{Admission, HashedTable, Missing, RowInit, Spec, State};
//!
//! let table = HashedTable::new(Spec {
//!     name: "emb".into(),
//!     width: 2,
//!     state: vec![State { width: 2, initial: 0.0 }],
//!     init: RowInit::Constant(0.5),
//!     seed: 1,
//!     max_rows: None,
//!     admission: Admission::Always,
//!     history: 0,
//! })?;
//! table.update(&[-7, 1 << 60], 1, |_, weights, _| weights[0] -= 1.0)?;
//! let mut rows = [0.0; 4];
//! table.read(&[3, -7], &mut rows, Missing::Zero)?;
//! assert_eq!(rows, [0.0, 0.0, -0.5, 0.5]);
//! # Ok::<(), oarlock_tensor::Error>(())
//! ```

mod arena;
mod batch;
mod history;
mod index;
mod memory;
mod saved;
mod shard;
mod spec;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use self::arena::{Blocks, HEAD, floats, floats_mut, header_of, id_of};
use self::batch::{Batch, Entry, WINDOW};
use self::index::SLOTS;
use self::saved::Saved;
use self::shard::{Cut, Shard};
use self::spec::Initial;
use crate::rng::mix;
use crate::{Error, Pool, Result};

pub use self::arena::Header;
pub use self::history::Changed;
pub use self::memory::Memory;
pub use self::spec::{Admission, RowInit, Spec, State};

/// The number of shards of every table.
pub const SHARDS: usize = 1 << SHARD_BITS;

const SHARD_BITS: u32 = 10;

/// A call locks at most so many shards at a time, in ascending order.
const LOCKS: usize = 32;

/// A call is split into parts of about so many ids, at most [`PARTS`], which threads share.
const PART: usize = 1024;
const PARTS: usize = 32;

/// The shard that holds row `id`, in every table: below [`SHARDS`].
#[inline]
pub fn shard_of(id: i64) -> usize {
    (mix(id as u64) >> (u64::BITS - SHARD_BITS)) as usize
}

/// What reading an id without a row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Training: the row is made, if [`Admission`] lets it, and reads as it starts.
    Create,
    /// Evaluation: it reads as zeros; nothing is made or counted.
    Zero,
}

/// What a call met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that were made.
    pub created: u64,
    /// Ids that have no row: the reading gave something else, the update was dropped.
    pub missing: u64,
}

/// Which rows to take away.
pub enum Evict<'a> {
    /// Those not updated at this step or later. Ids that wait for admission and were not seen since are forgotten, too.
    UnseenSince(u32),
    /// Those updated less often.
    CountBelow(u32),
    /// Those for whose id, header, weights and state this says so.
    Where(&'a (dyn Fn(i64, Header, &[f32], &[f32]) -> bool + Sync)),
}

/// What to do about an id without a row.
#[derive(Clone, Copy, PartialEq)]
enum Absent {
    /// Nothing.
    Leave,
    /// Make it, if all ids get rows.
    Make,
    /// Count it as seen, and make it if it is admitted.
    Admit,
}

/// The weights, or one state: where they begin among the elements of a row.
#[derive(Clone, Copy)]
struct Column {
    start: usize,
    width: usize,
}

/// What is going on in the table as a whole. Batches hold this lock for reading: a fence is between batches, never inside one.
#[derive(Default)]
struct Fences {
    /// The epoch of the open cut.
    cut: Option<u64>,
    /// The rounds begun so far.
    rounds: u64,
}

/// A lock to a cache line, so that neighbours do not disturb each other.
#[repr(align(64))]
struct Locked(Mutex<Shard>);

/// A table of rows by id, to be shared between threads. The module says more.
pub struct HashedTable {
    spec: Spec,
    initial: Initial,
    /// The weights first, then the states.
    columns: Vec<Column>,
    row_words: usize,
    blocks: Blocks,
    shards: Box<[Locked]>,
    rows: AtomicU64,
    /// The latest step of any update: when a row is made by a reading, it is as old as this.
    clock: AtomicU32,
    fences: RwLock<Fences>,
    /// The number of the open round, 0 for none. Changed only while `fences` is held for writing.
    round: AtomicU64,
    /// Memory of earlier calls.
    batches: Mutex<Vec<Batch>>,
}

impl HashedTable {
    /// An empty table.
    pub fn new(spec: Spec) -> Result<HashedTable> {
        spec.check()?;
        let widths = std::iter::once(spec.width).chain(spec.state.iter().map(|s| s.width));
        let columns = widths.scan(0, |end, width| {
            *end += width;
            Some(Column { start: *end - width, width })
        });
        let row_words = HEAD + spec.width + spec.state_width();
        let shard = |_| Locked(Mutex::new(Shard::new(row_words, spec.history)));
        Ok(HashedTable {
            initial: Initial::new(&spec),
            columns: columns.collect(),
            row_words,
            blocks: Blocks::new(),
            shards: (0..SHARDS).map(shard).collect(),
            rows: AtomicU64::new(0),
            clock: AtomicU32::new(0),
            fences: RwLock::default(),
            round: AtomicU64::new(0),
            batches: Mutex::default(),
            spec,
        })
    }

    /// What the table was made from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Rows in the table.
    pub fn len(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the table costs.
    pub fn memory(&self) -> Memory {
        let size = |of: fn(&Shard) -> usize| self.shards.iter().map(|s| of(&s.0.lock())).sum::<usize>();
        let row = self.row_words * size_of::<u32>();
        Memory {
            name: self.spec.name.clone(),
            rows: self.len(),
            row,
            raw: row - size_of::<Header>(),
            arena: self.blocks.bytes(),
            index: size(Shard::index_bytes),
            other: size(Shard::other_bytes),
        }
    }
}

/// Batches. Ids may be any numbers. `_on` is the same with the threads of a pool; the result is the same, too.
impl HashedTable {
    /// Copies the weights of rows to `out`, `width` each. Ids may repeat; each time counts for [`Admission`].
    pub fn read(&self, ids: &[i64], out: &mut [f32], missing: Missing) -> Result<Report> {
        self.read_on(&Pool::new(1), ids, out, missing)
    }

    /// [`HashedTable::read`] with the threads of a pool.
    pub fn read_on(&self, pool: &Pool, ids: &[i64], out: &mut [f32], missing: Missing) -> Result<Report> {
        self.same("weights", ids.len() * self.spec.width, out.len())?;
        let absent = if missing == Missing::Create { Absent::Admit } else { Absent::Leave };
        self.gather(pool, ids, absent, vec![out])
    }

    /// Copies weights and states of rows out: `weights` has `width` elements per id, `state` all rows of the first state, then all
    /// of the second, and so on. Absent rows are made; those that are not admitted read as they would start.
    pub fn take(&self, ids: &[i64], weights: &mut [f32], state: &mut [f32]) -> Result<Report> {
        self.take_on(&Pool::new(1), ids, weights, state)
    }

    /// [`HashedTable::take`] with the threads of a pool.
    pub fn take_on(&self, pool: &Pool, ids: &[i64], weights: &mut [f32], state: &mut [f32]) -> Result<Report> {
        self.same_parts(ids, weights, state)?;
        let mut parts = vec![weights];
        let mut rest = state;
        for column in &self.columns[1..] {
            let (part, more) = rest.split_at_mut(ids.len() * column.width);
            parts.push(part);
            rest = more;
        }
        self.gather(pool, ids, Absent::Make, parts)
    }

    /// Sets weights and states of rows at step `now` to what [`HashedTable::take`] lays out. Ids are not repeated. Absent rows are
    /// made, unless admission is to be earned: then nothing happens to them.
    pub fn put(&self, ids: &[i64], now: u32, weights: &[f32], state: &[f32]) -> Result<Report> {
        self.put_on(&Pool::new(1), ids, now, weights, state)
    }

    /// [`HashedTable::put`] with the threads of a pool.
    pub fn put_on(&self, pool: &Pool, ids: &[i64], now: u32, weights: &[f32], state: &[f32]) -> Result<Report> {
        self.same_parts(ids, weights, state)?;
        let mut parts = vec![weights];
        let mut rest = state;
        for column in &self.columns[1..] {
            let (part, more) = rest.split_at(ids.len() * column.width);
            parts.push(part);
            rest = more;
        }
        self.change(pool, ids, now, |at, row| {
            for (column, part) in self.columns.iter().zip(&parts) {
                row[column.start..][..column.width].copy_from_slice(&part[at * column.width..][..column.width]);
            }
        })
    }

    /// Adds `deltas`, `width` per id, to weights at step `now`. Ids may repeat. Absent rows as in [`HashedTable::put`].
    pub fn add(&self, ids: &[i64], now: u32, deltas: &[f32]) -> Result<Report> {
        self.add_on(&Pool::new(1), ids, now, deltas)
    }

    /// [`HashedTable::add`] with the threads of a pool.
    pub fn add_on(&self, pool: &Pool, ids: &[i64], now: u32, deltas: &[f32]) -> Result<Report> {
        let width = self.spec.width;
        self.same("deltas", ids.len() * width, deltas.len())?;
        self.change(pool, ids, now, |at, row| {
            for (weight, delta) in row[..width].iter_mut().zip(&deltas[at * width..]) {
                *weight += delta;
            }
        })
    }

    /// Calls `f` for each id with its position in `ids`, its weights and its states (side by side), to change them at step `now`.
    /// Ids are not repeated; in which order they come is not said. Absent rows as in [`HashedTable::put`]. `f` must not call the
    /// table. If the table is full, nothing is changed.
    pub fn update(&self, ids: &[i64], now: u32, mut f: impl FnMut(usize, &mut [f32], &mut [f32])) -> Result<Report> {
        let _batch = self.fences.read();
        self.grouped(ids, |batch| {
            debug_assert!(batch.is_unique(), "table `{}`: ids of an update are repeated", self.spec.name);
            self.make_room(batch)?;
            self.clock.fetch_max(now, Ordering::Relaxed);
            self.visit(batch, 0..SHARDS, Absent::Make, |shard, e, slot| {
                write(shard, e, slot, now, |row| {
                    let (weights, state) = row.split_at_mut(self.spec.width);
                    f(e.at as usize, weights, state);
                });
            })
        })
    }

    /// [`HashedTable::update`] with the threads of a pool.
    pub fn update_on(
        &self,
        pool: &Pool,
        ids: &[i64],
        now: u32,
        f: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
    ) -> Result<Report> {
        self.change(pool, ids, now, |at, row| {
            let (weights, state) = row.split_at_mut(self.spec.width);
            f(at, weights, state);
        })
    }
}

/// How batches work.
impl HashedTable {
    /// Copies columns of rows to `parts`, one part per column.
    fn gather(&self, pool: &Pool, ids: &[i64], absent: Absent, mut parts: Vec<&mut [f32]>) -> Result<Report> {
        let _batch = self.fences.read();
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
    fn change(&self, pool: &Pool, ids: &[i64], now: u32, f: impl Fn(usize, &mut [f32]) + Sync) -> Result<Report> {
        let _batch = self.fences.read();
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
        let mut row = vec![0.0; self.row_words - HEAD];
        if absent != Absent::Leave {
            row[self.spec.width..].copy_from_slice(&self.initial.state);
        }
        row
    }

    /// Groups ids in memory of an earlier call.
    fn grouped<R>(&self, ids: &[i64], work: impl FnOnce(&Batch) -> Result<R>) -> Result<R> {
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
    fn make_room(&self, batch: &Batch) -> Result<()> {
        if self.spec.max_rows.is_some_and(|limit| self.len() + batch.len() as u64 > limit) {
            self.visit(batch, 0..SHARDS, Absent::Make, |_, _, _| {})?;
        }
        Ok(())
    }

    /// Calls `act` for the entries of some shards, in their order, with the shard and the slot, if there is or should be one.
    ///
    /// Some dozens of entries are dealt with at a time: their shards are locked, their part of the index is asked for, then
    /// their rows, and when `act` needs them they are there.
    fn visit(
        &self,
        batch: &Batch,
        shards: Range<usize>,
        absent: Absent,
        mut act: impl FnMut(&mut Shard, &Entry, Option<u32>),
    ) -> Result<Report> {
        let mut report = Report::default();
        let mut pieces = batch.pieces(shards);
        let mut window: Vec<(MutexGuard<'_, Shard>, &[Entry])> = Vec::with_capacity(LOCKS);
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
            for (shard, piece) in &window {
                piece.iter().for_each(|e| shard.prefetch_row(e.id));
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

    /// Locks a shard for a batch, which holds `fences`.
    fn enter(&self, shard: usize) -> MutexGuard<'_, Shard> {
        let mut shard = self.shards[shard].0.lock();
        shard.enter_round(self.round.load(Ordering::Relaxed));
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
        let header = Header { last: now, count: 0 };
        let slot = shard.add(id, header, &self.blocks).ok_or_else(|| self.shard_full())?;
        let (weights, state) = floats_mut(shard.new_row(slot)).split_at_mut(self.spec.width);
        self.initial.weights(id, weights);
        state.copy_from_slice(&self.initial.state);
        report.created += 1;
        Ok(Some(slot))
    }

    /// Counts one more row, unless the table is full.
    fn count_row(&self) -> Result<()> {
        let limit = self.spec.max_rows.unwrap_or(u64::MAX);
        let more = |rows| (rows < limit).then(|| rows + 1);
        let counted = self.rows.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.map(|_| ()).map_err(|limit| Error::TableFull { table: self.spec.name.clone(), limit })
    }

    fn shard_full(&self) -> Error {
        self.rows.fetch_sub(1, Ordering::Relaxed);
        self.spec.error(format!("one of its shards holds {SLOTS} rows, which is the most; spread ids evenly"))
    }

    fn same(&self, what: &str, need: usize, found: usize) -> Result<()> {
        if need == found {
            return Ok(());
        }
        Err(self.spec.error(format!("the ids need {need} {what}, but {found} are given")))
    }

    fn same_parts(&self, ids: &[i64], weights: &[f32], state: &[f32]) -> Result<()> {
        self.same("weights", ids.len() * self.spec.width, weights.len())?;
        self.same("elements of state", ids.len() * self.spec.state_width(), state.len())
    }
}

/// Changes one row, if it is there.
#[inline]
fn write(shard: &mut Shard, e: &Entry, slot: Option<u32>, now: u32, f: impl FnOnce(&mut [f32])) {
    if let Some(slot) = slot {
        f(floats_mut(shard.update(e.id, slot, now)));
    }
}

/// Into how many parts a call of so many ids is split. By size alone: nothing depends on the number of threads.
fn tasks(ids: usize) -> usize {
    (ids / PART).clamp(1, PARTS)
}

/// The shards in so many ranges.
fn ranges(tasks: usize) -> impl Iterator<Item = Range<usize>> + Send {
    (0..tasks).map(move |i| i * SHARDS / tasks..(i + 1) * SHARDS / tasks)
}

/// One row, one shard, all rows.
impl HashedTable {
    /// Sets row `id`, which is made if it is not there, admitted or not: for loading. `state` holds the states side by side.
    pub fn insert(&self, id: i64, header: Header, weights: &[f32], state: &[f32]) -> Result<()> {
        self.same_parts(&[id], weights, state)?;
        let _batch = self.fences.read();
        let mut shard = self.enter(shard_of(id));
        if shard.find(id).is_none() {
            self.count_row()?;
        }
        let row = shard.set(id, header, &self.blocks).ok_or_else(|| self.shard_full())?;
        let (to_weights, to_state) = floats_mut(row).split_at_mut(self.spec.width);
        to_weights.copy_from_slice(weights);
        to_state.copy_from_slice(state);
        self.clock.fetch_max(header.last, Ordering::Relaxed);
        Ok(())
    }

    /// Shows every row of a shard: id, header, weights, states side by side. In no particular order. The shard is locked meanwhile.
    pub fn for_each_row(&self, shard: usize, mut visit: impl FnMut(i64, Header, &[f32], &[f32])) -> Result<()> {
        let shard = self.shard(shard)?;
        shard.rows().for_each(|row| self.show(row, &mut visit));
        Ok(())
    }

    /// Takes rows away; returns how many. Their memory serves new rows. Shard after shard: others can work meanwhile.
    pub fn evict(&self, which: Evict<'_>) -> u64 {
        let gone = |row: &[u32]| match which {
            Evict::UnseenSince(step) => header_of(row).last < step,
            Evict::CountBelow(count) => header_of(row).count < count,
            Evict::Where(says_so) => {
                let (weights, state) = floats(row).split_at(self.spec.width);
                says_so(id_of(row), header_of(row), weights, state)
            }
        };
        let _batch = self.fences.read();
        let mut total = 0;
        for shard in 0..SHARDS {
            let mut shard = self.enter(shard);
            total += shard.remove(gone);
            if let Evict::UnseenSince(step) = which {
                shard.forget_waiting(step);
            }
        }
        self.rows.fetch_sub(total, Ordering::Relaxed);
        total
    }

    /// The rows of a shard that were made, changed or evicted after its sequence number was `lsn`, and the number to ask with
    /// next time. A shard starts at 0.
    pub fn changed_since(&self, shard: usize, lsn: u64) -> Result<(u64, Changed)> {
        let shard = self.shard(shard)?;
        Ok((shard.history.lsn(), shard.history.since(lsn)))
    }

    fn shard(&self, shard: usize) -> Result<MutexGuard<'_, Shard>> {
        match self.shards.get(shard) {
            Some(shard) => Ok(shard.0.lock()),
            None => Err(self.spec.error(format!("there is no shard {shard}; a table has {SHARDS}, from 0"))),
        }
    }

    fn show(&self, row: &[u32], visit: &mut impl FnMut(i64, Header, &[f32], &[f32])) {
        let (weights, state) = floats(row).split_at(self.spec.width);
        visit(id_of(row), header_of(row), weights, state);
    }
}

/// Consistent cuts: the table as it was at a moment, read while updates go on.
impl HashedTable {
    /// Sets a fence between batches: from now on rows are kept as they are now when they change, until the cut is read.
    pub fn begin_cut(&self, epoch: u64) -> Result<()> {
        let mut fences = self.fences.write();
        if let Some(open) = fences.cut {
            return Err(self.spec.error(format!("cut {epoch} cannot begin before cut {open} ends")));
        }
        fences.cut = Some(epoch);
        self.each_shard(|shard| {
            shard.cut = Some(Cut { lsn: shard.history.lsn(), saved: Some(Saved::new(self.row_words)) });
        });
        Ok(())
    }

    /// The epoch of the open cut.
    pub fn cut(&self) -> Option<u64> {
        self.fences.read().cut
    }

    /// Shows every row of a shard as it was at the fence: id, header, weights, states side by side; returns the shard's sequence
    /// number at the fence. The shard is locked meanwhile; afterwards it keeps nothing for the cut, which can be read once.
    pub fn cut_shard(&self, shard: usize, mut visit: impl FnMut(i64, Header, &[f32], &[f32])) -> Result<u64> {
        let number = shard;
        let mut shard = self.shard(shard)?;
        let Some(cut) = shard.cut.as_mut() else {
            return Err(self.spec.error("there is no cut to read; begin one first"));
        };
        let (lsn, Some(saved)) = (cut.lsn, cut.saved.take()) else {
            return Err(self.spec.error(format!("the cut of shard {number} was read already")));
        };
        let unchanged = shard.rows().filter(|row| saved.get(id_of(row)).is_none());
        let changed = saved.iter().filter_map(|(_, row)| row);
        unchanged.chain(changed).for_each(|row| self.show(row, &mut visit));
        Ok(lsn)
    }

    /// Ends the cut, whether it was read or not.
    pub fn end_cut(&self) {
        let mut fences = self.fences.write();
        if fences.cut.take().is_some() {
            self.each_shard(|shard| shard.cut = None);
        }
    }
}

/// Rounds that can be taken back: the rows that a round changed are kept as they were before it.
impl HashedTable {
    /// Begins a round; a round that is open is committed.
    pub fn begin_round(&self) {
        let mut fences = self.fences.write();
        fences.rounds += 1;
        // Shards learn of it when they are next used: most rounds touch few rows.
        self.round.store(fences.rounds, Ordering::Relaxed);
    }

    /// Copies weights as they were before the open round; as they are, if none is open. Ids that had no row read as the row
    /// started or would start; nothing is made or counted.
    pub fn read_before_round(&self, ids: &[i64], out: &mut [f32]) -> Result<()> {
        let width = self.spec.width;
        self.same("weights", ids.len() * width, out.len())?;
        let _batch = self.fences.read();
        self.grouped(ids, |batch| {
            self.visit(batch, 0..SHARDS, Absent::Leave, |shard, e, _| {
                let to = &mut out[e.at as usize * width..][..width];
                match shard.before_round(e.id) {
                    Some(row) => to.copy_from_slice(&floats(row)[..width]),
                    None => self.initial.weights(e.id, to),
                }
            })
        })?;
        Ok(())
    }

    /// Ends the round: what it did stays.
    pub fn commit_round(&self) {
        let _alone = self.fences.write();
        self.round.store(0, Ordering::Relaxed);
    }

    /// Ends the round: all rows, their headers too, are what they were before it; those it made are gone, those it evicted are
    /// back. How often ids were seen that wait for admission is not taken back.
    pub fn rollback_round(&self) {
        let _alone = self.fences.write();
        let round = self.round.swap(0, Ordering::Relaxed);
        self.each_shard(|shard| {
            let (made, removed) = shard.roll_back(round, &self.blocks);
            self.rows.fetch_add(made, Ordering::Relaxed);
            self.rows.fetch_sub(removed, Ordering::Relaxed);
        });
    }

    fn each_shard(&self, f: impl Fn(&mut Shard)) {
        self.shards.iter().for_each(|shard| f(&mut shard.0.lock()));
    }
}
