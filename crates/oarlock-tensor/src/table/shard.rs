//! A shard of a table: the unit of locking, saving and moving. It knows its rows and nothing of other shards.

use super::arena::{Arena, Blocks, Header, header_of, id_of, set_head, set_header};
use super::history::History;
use super::index::{Index, SLOTS};
use super::saved::{ById, Saved};
use crate::rng::mix;

/// How often an id that has no row yet was seen.
#[derive(Clone, Copy)]
struct Waiting {
    count: u32,
    last: u32,
}

/// The state of a consistent snapshot in one shard.
pub(super) struct ShardSnapshot {
    /// The shard's sequence number at the fence.
    pub(super) lsn: u64,
    /// The rows that changed since the fence, as they were; `None` once the snapshot was read, from when on nothing needs to be kept.
    pub(super) saved: Option<Saved>,
}

/// Some rows of a table, and all that belongs to them.
pub(super) struct Shard {
    index: Index,
    arena: Arena,
    pub(super) history: History,
    waiting: ById<Waiting>,
    /// How often a coin was tossed about an id without a row.
    tosses: u64,
    pub(super) snapshot: Option<ShardSnapshot>,
    /// The step that the shard knows of, 0 for none.
    step: u64,
    /// The rows that changed in that step, as they were before it.
    before_step: Saved,
}

impl Shard {
    pub(super) fn new(row_words: usize, history: usize) -> Shard {
        Shard {
            index: Index::default(),
            arena: Arena::new(row_words),
            history: History::new(history),
            waiting: ById::default(),
            tosses: 0,
            snapshot: None,
            step: 0,
            before_step: Saved::new(row_words),
        }
    }

    /// The slot of row `id`.
    #[inline]
    pub(super) fn find(&self, id: i64) -> Option<u32> {
        self.index.find(mix(id as u64), |slot| id_of(self.arena.row(slot)) == id)
    }

    /// Asks for the part of the index that leads to row `id`.
    #[inline]
    pub(super) fn prefetch_index(&self, id: i64) {
        self.index.prefetch(mix(id as u64));
    }

    /// The slot that row `id` most likely has, as far as the index says, which should be at hand. Asks for the way to the row.
    #[inline]
    pub(super) fn likely_slot(&self, id: i64) -> Option<u32> {
        let slot = self.index.find(mix(id as u64), |_| true)?;
        self.arena.prefetch_chunk(slot);
        Some(slot)
    }

    /// Asks for the row in a slot.
    #[inline]
    pub(super) fn prefetch_row(&self, slot: Option<u32>) {
        if let Some(slot) = slot {
            self.arena.prefetch(slot);
        }
    }

    /// The words of a row.
    #[inline]
    pub(super) fn row(&self, slot: u32) -> &[u32] {
        self.arena.row(slot)
    }

    /// The words of a row that is updated at step `now`.
    #[inline]
    pub(super) fn update(&mut self, id: i64, slot: u32, now: u32) -> &mut [u32] {
        self.before_write(id, Some(slot));
        let row = self.arena.row_mut(slot);
        let count = header_of(row).count.saturating_add(1);
        set_header(row, Header { last: now, count, ..Header::default() });
        row
    }

    /// The words of a row that is about to change, which is no update.
    pub(super) fn touch(&mut self, id: i64, slot: u32) -> &mut [u32] {
        self.before_write(id, Some(slot));
        self.arena.row_mut(slot)
    }

    /// The words of row `id`, which is made if it is not there, with a header; weights and state are the caller's to set.
    /// `None` if the shard can have no more rows.
    pub(super) fn set(&mut self, id: i64, header: Header, blocks: &Blocks) -> Option<&mut [u32]> {
        let slot = match self.find(id) {
            Some(slot) => {
                self.before_write(id, Some(slot));
                slot
            }
            None => self.add(id, header, blocks)?,
        };
        let row = self.arena.row_mut(slot);
        set_header(row, header);
        Some(row)
    }

    /// Makes row `id`, which is not there; weights and state are the caller's to set. `None` if the shard can have no more rows.
    pub(super) fn add(&mut self, id: i64, header: Header, blocks: &Blocks) -> Option<u32> {
        let slot = self.arena.take(SLOTS, blocks)?;
        self.before_write(id, None);
        self.waiting.remove(&id);
        if !self.index.has_room() {
            self.index.grow();
            self.fill_index();
        }
        set_head(self.arena.row_mut(slot), id, header);
        self.index.insert(mix(id as u64), slot);
        Some(slot)
    }

    /// The words of a row that was just made.
    pub(super) fn new_row(&mut self, slot: u32) -> &mut [u32] {
        self.arena.row_mut(slot)
    }

    /// Takes rows away; returns how many.
    pub(super) fn remove(&mut self, gone: impl Fn(&[u32]) -> bool) -> u64 {
        let chosen: Vec<(u32, i64)> =
            self.arena.live().filter(|(_, row)| gone(row)).map(|(slot, row)| (slot, id_of(row))).collect();
        for &(slot, id) in &chosen {
            self.before_write(id, Some(slot));
            self.arena.release(slot);
        }
        if !chosen.is_empty() {
            // Open addressing cannot simply leave holes.
            self.index.clear();
            self.fill_index();
        }
        chosen.len() as u64
    }

    fn fill_index(&mut self) {
        for (slot, row) in self.arena.live() {
            self.index.insert(mix(id_of(row) as u64), slot);
        }
    }

    /// Whatever must be kept of a row before it changes; without a slot it is about to be made.
    #[inline]
    fn before_write(&mut self, id: i64, slot: Option<u32>) {
        self.history.push(id);
        let snapshot = self.snapshot.as_mut().and_then(|snapshot| snapshot.saved.as_mut());
        let step = (self.step != 0).then_some(&mut self.before_step);
        for saved in snapshot.into_iter().chain(step) {
            saved.keep(id, slot.map(|slot| self.arena.row(slot)));
        }
    }

    /// The table is in this step, 0 for none: what was kept for another is not needed any more.
    #[inline]
    pub(super) fn enter_step(&mut self, step: u64) {
        if self.step != step {
            self.step = step;
            self.before_step.clear();
        }
    }

    /// All rows, in the order in which they got their slots.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.arena.live().map(|(_, row)| row)
    }

    /// Row `id` as it was before the open step, or as it is, if it did not change or no step is open.
    pub(super) fn before_step(&self, id: i64) -> Option<&[u32]> {
        self.before_step.get(id).unwrap_or_else(|| self.find(id).map(|slot| self.arena.row(slot)))
    }

    /// Puts all rows back to what they were before `step`, which ends. Returns how many rows were made and taken away.
    pub(super) fn roll_back(&mut self, step: u64, blocks: &Blocks) -> (u64, u64) {
        self.enter_step(step);
        self.step = 0;
        let step = std::mem::replace(&mut self.before_step, Saved::new(self.arena.row_words()));
        let is_new = |row: &[u32]| matches!(step.get(id_of(row)), Some(None));
        let any_new = step.iter().any(|(_, row)| row.is_none());
        let removed = if any_new { self.remove(is_new) } else { 0 };
        let mut made = 0;
        for (id, row) in step.iter() {
            let Some(row) = row else { continue };
            made += u64::from(self.find(id).is_none());
            // There were slots for all rows before the step, and those of newer rows are free again.
            if let Some(words) = self.set(id, header_of(row), blocks) {
                words.copy_from_slice(row);
            }
        }
        (made, removed)
    }

    /// Row-less `id` was seen at step `now`; returns how often by now.
    pub(super) fn seen(&mut self, id: i64, now: u32) -> u32 {
        let waiting = self.waiting.entry(id).or_insert(Waiting { count: 0, last: now });
        *waiting = Waiting { count: waiting.count.saturating_add(1), last: now };
        waiting.count
    }

    /// Ids without a row that were seen.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (i64, Header)> {
        self.waiting.iter().map(|(id, w)| (*id, Header { last: w.last, count: w.count, ..Header::default() }))
    }

    /// Sets how often row-less `id` was seen.
    pub(super) fn wait(&mut self, id: i64, seen: Header) {
        self.waiting.insert(id, Waiting { count: seen.count, last: seen.last });
    }

    /// How many coins were tossed.
    pub(super) fn tosses(&self) -> u64 {
        self.tosses
    }

    /// Sets the number of coins that were tossed.
    pub(super) fn set_tosses(&mut self, tosses: u64) {
        self.tosses = tosses;
    }

    /// The number of the next toss of a coin.
    pub(super) fn toss(&mut self) -> u64 {
        self.tosses += 1;
        self.tosses
    }

    /// Goes on where another shard stands with the ids that wait for a row.
    pub(super) fn take_admission(&mut self, from: &mut Shard) {
        (self.waiting, self.tosses) = (std::mem::take(&mut from.waiting), from.tosses);
    }

    /// Forgets ids without a row that were not seen since step `since`.
    pub(super) fn forget_waiting(&mut self, since: u32) {
        self.waiting.retain(|_, waiting| waiting.last >= since);
        self.waiting.shrink_to_fit();
    }

    /// Bytes of the index.
    pub(super) fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Bytes of all but the index and the rows.
    pub(super) fn other_bytes(&self) -> usize {
        let snapshot = self.snapshot.as_ref().and_then(|snapshot| snapshot.saved.as_ref());
        let saved: usize = snapshot.into_iter().chain([&self.before_step]).map(Saved::bytes).sum();
        let waiting = self.waiting.capacity() * (size_of::<(i64, Waiting)>() + 1);
        size_of::<Shard>() + self.arena.bytes() + self.history.bytes() + waiting + saved
    }
}
