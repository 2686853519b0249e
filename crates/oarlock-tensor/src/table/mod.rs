//! Hashed embedding tables: rows of weights and optimizer state, found by a hash of the id and made when they are first read for training.
//!
//! A [`HashedTable`] maps any `i64` to a row: id, header, weights and optimizer state side by side.
//!
//! - **Shards.** A mix of the id chooses one of [`SHARDS`] shards, the same in every table and process. A shard has a lock,
//!   an index of 32-bit handles (slot, seven bits of the hash), rows in chunks, and the number of its changes with the
//!   latest ids (`shard.rs`, `index.rs`, `arena.rs`, `history.rs`).
//! - **Calls** take many ids at once and group them by shard, then take some dozens at a time: lock their shards, prefetch
//!   their part of the index, then their rows, and only then touch them (`batch.rs`, `visit.rs`). No reference to a row
//!   outlives a call.
//! - **Memory** grows by a sixteenth of a shard's rows and a quarter of its index. Chunks of all shards come from the same
//!   blocks, which are on huge pages from 4 MiB on. A row costs its numbers, 16 bytes, and about 8 % for index and growth.
//! - **First weights** are a function of seed, table and id (`spec.rs`): neither the order of rows nor the number of threads
//!   changes them.
//! - **Admission** decides which ids get a row (`admission.rs`). **Eviction** is the one way by which rows leave
//!   (`evict.rs`), by a call or by themselves; which leave by themselves is a function of a row's header and the number of
//!   the update (`retention.rs`). Shards take turns, so that an update looks at few of them. Shows and clicks lie at the end
//!   of a row and come to it behind its gradient; servers and communicators, which average gradients, add them up instead.
//! - **Snapshots** (`snapshot.rs`) and **rollback** of a step (`rollback.rs`) keep rows as they were before their first
//!   change. Without an open one that costs two comparisons.
//! - Where a program runs alone, the same table is the value of a variable (`var.rs`, `Value::Table`): a startup program
//!   makes it without rows, lookups and optimizers find it where they would find a tensor, and states join the rows of their
//!   parameter at the first update. No program is rewritten for it.
//!
//! The table does arithmetic on rows only by the closures it is called with; it knows no optimizer, no file and no network.
//!
//! ```
//! use oarlock_tensor::table::{Admission, HashedTable, Missing, Retention, RowInit, Spec, State};
//!
//! let table = HashedTable::new(Spec {
//!     name: "emb".into(),
//!     width: 2,
//!     state: vec![State { width: 2, initial: 0.0 }],
//!     init: RowInit::Constant(0.5),
//!     seed: 1,
//!     max_rows: None,
//!     admission: Admission::Always,
//!     retention: Retention::default(),
//!     history: 0,
//! })?;
//! table.update(&[-7, 1 << 60], 1, |_, weights, _| weights[0] -= 1.0)?;
//! let mut rows = [0.0; 4];
//! table.read(&[3, -7], &mut rows, Missing::Zero)?;
//! assert_eq!(rows, [0.0, 0.0, -0.5, 0.5]);
//! # Ok::<(), oarlock_tensor::Error>(())
//! ```

mod admission;
mod arena;
mod batch;
mod evict;
mod history;
mod index;
mod memory;
mod retention;
mod rollback;
mod saved;
mod shard;
mod snapshot;
mod spec;
mod var;
mod visit;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use self::arena::{Blocks, HEAD, floats, floats_mut, header_of, id_of, set_shown, shown_of};
use self::batch::Batch;
use self::shard::Shard;
use self::spec::Initial;
use self::visit::{Absent, write};
use crate::rng::mix;
use crate::{Pool, Result};

pub use self::admission::{Admission, AdmissionState, RowPolicy, SHOWN, show_click};
pub use self::arena::{Header, Shown};
pub use self::evict::{Evict, Judge};
pub use self::history::Changed;
pub use self::memory::Memory;
pub use self::retention::{Retention, Score};
pub use self::spec::{RowInit, Spec, State};
pub use self::var::{LocalTable, TableState, TableVar};

/// The number of shards of every table.
pub const SHARDS: usize = 1 << SHARD_BITS;

const SHARD_BITS: u32 = 10;

/// The shard that holds row `id`, in every table: below [`SHARDS`].
#[inline]
pub fn shard_of(id: i64) -> usize {
    (mix(id as u64) >> (u64::BITS - SHARD_BITS)) as usize
}

/// The effect of reading an id without a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Training: the row is made, if [`Admission`] lets it, and reads as it starts.
    Create,
    /// Evaluation: it reads as zeros; nothing is made or counted.
    Zero,
}

/// The ids without a row that a call met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that were made.
    pub created: u64,
    /// Ids that have no row: the reading gave something else, the update was dropped.
    pub missing: u64,
}

/// The weights, or one state: where they begin among the elements of a row.
#[derive(Clone, Copy)]
struct Column {
    start: usize,
    width: usize,
}

/// The open snapshot and the step of the whole table. Batches hold this lock for reading: a fence falls between batches.
#[derive(Default)]
struct SnapshotFence {
    /// The epoch of the open snapshot.
    snapshot: Option<u64>,
    /// The steps begun so far.
    steps: u64,
}

/// A lock to a cache line, so that neighbours do not disturb each other.
#[repr(align(64))]
struct Locked(Mutex<Shard>);

/// A hashed embedding table, to be shared between threads. The module says more.
pub struct HashedTable {
    spec: Spec,
    initial: Initial,
    /// The weights first, then the states.
    columns: Vec<Column>,
    row_words: usize,
    blocks: Blocks,
    shards: Box<[Locked]>,
    rows: AtomicU64,
    /// Rows that were evicted.
    evicted: AtomicU64,
    /// The latest step of any update: when a row is made by a reading, it is as old as this.
    clock: AtomicU32,
    fence: RwLock<SnapshotFence>,
    /// The number of the open step, 0 for none. Changed only while `fence` is held for writing.
    step: AtomicU64,
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
        let row_words = HEAD + spec.width + spec.state_width() + spec.tail();
        let shard = |_| Locked(Mutex::new(Shard::new(row_words, spec.history)));
        Ok(HashedTable {
            initial: Initial::new(&spec),
            columns: columns.collect(),
            row_words,
            blocks: Blocks::new(),
            shards: (0..SHARDS).map(shard).collect(),
            rows: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            clock: AtomicU32::new(0),
            fence: RwLock::default(),
            step: AtomicU64::new(0),
            batches: Mutex::default(),
            spec,
        })
    }

    /// The specification the table was made from.
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

    /// Returns the memory of the table.
    pub fn memory(&self) -> Memory {
        let size = |of: fn(&Shard) -> usize| self.shards.iter().map(|s| of(&s.0.lock())).sum::<usize>();
        let row = self.row_words * size_of::<u32>();
        Memory {
            name: self.spec.name.clone(),
            rows: self.len(),
            row,
            raw: row - size_of::<u32>() * (HEAD - 2 + self.spec.tail()),
            evicted: self.evicted(),
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
        self.change(pool, ids, now, |at, row| {
            for (i, column) in self.columns.iter().enumerate() {
                // The states stand behind each other, each for all ids; columns count the weights, too.
                let from = if i == 0 { weights } else { &state[ids.len() * (column.start - self.spec.width)..] };
                row[column.start..][..column.width].copy_from_slice(&from[at * column.width..][..column.width]);
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

    /// Makes sure that the next update of these ids finds room: fails if the table cannot hold them all.
    pub fn reserve(&self, ids: &[i64]) -> Result<()> {
        let _batch = self.fence.read();
        self.grouped(ids, |batch| self.make_room(batch))
    }

    /// Calls `f` for each id with its position in `ids`, its weights and its states (side by side), to change them at step `now`.
    /// Ids are not repeated; in which order they come is not said. Absent rows as in [`HashedTable::put`]. `f` must not call the
    /// table. If the table is full, nothing is changed.
    pub fn update(&self, ids: &[i64], now: u32, mut f: impl FnMut(usize, &mut [f32], &mut [f32])) -> Result<Report> {
        let _batch = self.fence.read();
        self.grouped(ids, |batch| {
            debug_assert!(batch.is_unique(), "table `{}`: ids of an update are repeated", self.spec.name);
            self.make_room(batch)?;
            self.clock.fetch_max(now, Ordering::Relaxed);
            self.visit(batch, 0..SHARDS, Absent::Make, |shard, e, slot| {
                write(shard, e, slot, now, |row| {
                    let (weights, state) = row.split_at_mut(self.spec.width);
                    f(e.at as usize, weights, &mut state[..self.initial.state.len()]);
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
            f(at, weights, &mut state[..self.initial.state.len()]);
        })
    }
}

/// One row, one shard, all rows.
impl HashedTable {
    /// Sets row `id`, which is made if it is not there, admitted or not: for loading. `state` holds the states side by side.
    pub fn insert(&self, id: i64, header: Header, weights: &[f32], state: &[f32]) -> Result<()> {
        self.same_parts(&[id], weights, state)?;
        let _batch = self.fence.read();
        let mut shard = self.enter(shard_of(id));
        if shard.find(id).is_none() {
            self.count_row()?;
        }
        let row = shard.set(id, header, &self.blocks).ok_or_else(|| self.shard_full())?;
        let (to_weights, to_state) = self.parts_mut(row);
        to_weights.copy_from_slice(weights);
        to_state.copy_from_slice(state);
        self.set_shown(row, header.shown);
        self.clock.fetch_max(header.last, Ordering::Relaxed);
        Ok(())
    }

    /// Shows every row of a shard: id, header, weights, states side by side. In no particular order. The shard is locked meanwhile.
    pub fn for_each_row(&self, shard: usize, mut visit: impl FnMut(i64, Header, &[f32], &[f32])) -> Result<()> {
        let shard = self.shard(shard)?;
        shard.rows().for_each(|row| self.show(row, &mut visit));
        Ok(())
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
        let (weights, state) = self.parts(row);
        visit(id_of(row), self.header(row), weights, state);
    }

    /// Weights and states of a row.
    fn parts<'a>(&self, row: &'a [u32]) -> (&'a [f32], &'a [f32]) {
        let (weights, state) = floats(row).split_at(self.spec.width);
        (weights, &state[..self.initial.state.len()])
    }

    /// Weights and states of a row, to write.
    fn parts_mut<'a>(&self, row: &'a mut [u32]) -> (&'a mut [f32], &'a mut [f32]) {
        let (weights, state) = floats_mut(row).split_at_mut(self.spec.width);
        (weights, &mut state[..self.initial.state.len()])
    }

    fn header(&self, row: &[u32]) -> Header {
        match self.spec.tail() {
            0 => header_of(row),
            _ => Header { shown: shown_of(row), ..header_of(row) },
        }
    }

    fn set_shown(&self, row: &mut [u32], shown: Shown) {
        if self.spec.tail() > 0 {
            set_shown(row, shown);
        }
    }
}
