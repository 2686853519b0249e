//! The memory of rows. A row is a run of 32-bit words:
//!
//! | words | hold |
//! |---|---|
//! | 0, 1 | the id, low half first |
//! | 2 | the step of the last update ([`Header::last`]) |
//! | 3 | bit 31: the row is in use; bits 0 to 30: how often it was updated, at most 2^31 - 1 ([`Header::count`]) |
//! | 4 ... | weights, then the states side by side, as `f32` |
//! | the last two | in tables whose rows count them: shows and clicks ([`Header::shown`]), as `f32` |
//!
//! Rows of a shard are numbered; a number (slot) stays with its row. Chunks of rows are carved from blocks that all shards of a
//! table share, so that large tables live on huge pages although no shard fills one.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::buf::Part;
use crate::simd;

/// Words before the weights.
pub(super) const HEAD: usize = 4;

/// Set in word 3 of a row in use.
const LIVE: u32 = 1 << 31;

/// Rows of a shard's first chunks.
const FIRST: u32 = 4;

/// Chunks grow to twice the size every `1 << STEPS` chunks: what a shard has and does not use yet is at most 1/16 of it.
const STEPS: u32 = 4;

/// How many times as large a block is at least as the chunk it is made for: what is left at its end is not used.
const CHUNKS_PER_BLOCK: usize = 32;

/// Words of a block of a large table: two huge pages, from which on memory is asked for in huge pages.
const BLOCK: usize = 2 * oarlock_sys::HUGE_PAGE / size_of::<u32>();

/// The data of a row beside its numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Header {
    /// The step (or epoch: what the caller passes as `now`) of the last update, or of the time before the row was made.
    pub last: u32,
    /// How often the row was updated, at most 2^31 - 1.
    pub count: u32,
    /// Shows and clicks, in tables whose rows count them; otherwise 0.
    pub shown: Shown,
}

/// How often a row was shown and clicked, as far as that still counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shown {
    /// Shows.
    pub show: f32,
    /// Clicks.
    pub click: f32,
}

/// The id of a row.
#[inline]
pub(super) fn id_of(row: &[u32]) -> i64 {
    (u64::from(row[0]) | u64::from(row[1]) << 32) as i64
}

/// The header of a row, but for what it counts at its end.
pub(super) fn header_of(row: &[u32]) -> Header {
    Header { last: row[2], count: row[3] & !LIVE, shown: Shown::default() }
}

/// Shows and clicks, which are at the end of a row that counts them.
pub(super) fn shown_of(row: &[u32]) -> Shown {
    match row {
        [.., show, click] => Shown { show: f32::from_bits(*show), click: f32::from_bits(*click) },
        _ => Shown::default(),
    }
}

/// Writes shows and clicks to the end of a row that counts them.
pub(super) fn set_shown(row: &mut [u32], shown: Shown) {
    if let [.., show, click] = row {
        (*show, *click) = (shown.show.to_bits(), shown.click.to_bits());
    }
}

/// Writes id and header of a row, which is in use from now on.
pub(super) fn set_head(row: &mut [u32], id: i64, header: Header) {
    (row[0], row[1]) = (id as u32, (id as u64 >> 32) as u32);
    set_header(row, header);
}

/// Writes the header of a row in use, but for what it counts at its end.
pub(super) fn set_header(row: &mut [u32], header: Header) {
    (row[2], row[3]) = (header.last, header.count.min(!LIVE) | LIVE);
}

/// Weights and state of a row.
#[inline]
pub(super) fn floats(row: &[u32]) -> &[f32] {
    bytemuck::cast_slice(&row[HEAD..])
}

/// Weights and state of a row, to write.
#[inline]
pub(super) fn floats_mut(row: &mut [u32]) -> &mut [f32] {
    bytemuck::cast_slice_mut(&mut row[HEAD..])
}

/// The blocks that the chunks of all shards are carved from.
pub(super) struct Blocks {
    rest: Mutex<Part>,
    words: AtomicUsize,
}

impl Blocks {
    pub(super) fn new() -> Blocks {
        Blocks { rest: Mutex::new(Part::block(0)), words: AtomicUsize::new(0) }
    }

    /// Bytes of all blocks.
    pub(super) fn bytes(&self) -> usize {
        self.words.load(Ordering::Relaxed) * size_of::<u32>()
    }

    fn take(&self, words: usize) -> Part {
        let mut rest = self.rest.lock();
        loop {
            if let Some(part) = rest.split(words) {
                return part;
            }
            // Small tables grow in small steps.
            let so_far = self.words.load(Ordering::Relaxed);
            let block = (so_far / CHUNKS_PER_BLOCK).min(BLOCK).max(words * CHUNKS_PER_BLOCK);
            *rest = Part::block(if block < BLOCK { block } else { block.next_multiple_of(BLOCK / 2) });
            self.words.fetch_add(rest.words().len(), Ordering::Relaxed);
        }
    }
}

/// The rows of one shard.
pub(super) struct Arena {
    row_words: usize,
    chunks: Vec<Part>,
    /// Slots given out so far, evicted ones included.
    slots: u32,
    /// Slots of evicted rows, to be given out first.
    free: Vec<u32>,
}

impl Arena {
    pub(super) fn new(row_words: usize) -> Arena {
        Arena { row_words, chunks: Vec::new(), slots: 0, free: Vec::new() }
    }

    /// Words of a row.
    pub(super) fn row_words(&self) -> usize {
        self.row_words
    }

    /// A slot for a new row, whose words are whatever they were; `None` if there are `limit` slots already.
    pub(super) fn take(&mut self, limit: u32, blocks: &Blocks) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        if self.slots >= limit {
            return None;
        }
        let slot = self.slots;
        let (chunk, _) = place(slot);
        if chunk == self.chunks.len() {
            // Not by doubling: chunks are many.
            if chunk == self.chunks.capacity() {
                self.chunks.reserve_exact(1 << STEPS);
            }
            self.chunks.push(blocks.take(rows_of_chunk(chunk) * self.row_words));
        }
        self.slots += 1;
        Some(slot)
    }

    /// Takes the row out of use.
    pub(super) fn release(&mut self, slot: u32) {
        self.row_mut(slot)[3] = 0;
        self.free.push(slot);
    }

    /// The words of a row.
    #[inline]
    pub(super) fn row(&self, slot: u32) -> &[u32] {
        let (chunk, at) = place(slot);
        &self.chunks[chunk].words()[at * self.row_words..][..self.row_words]
    }

    /// The words of a row, to write.
    #[inline]
    pub(super) fn row_mut(&mut self, slot: u32) -> &mut [u32] {
        let (chunk, at) = place(slot);
        &mut self.chunks[chunk].words_mut()[at * self.row_words..][..self.row_words]
    }

    /// Asks for where the row is said to be: a large table has some megabytes of chunks.
    #[inline]
    pub(super) fn prefetch_chunk(&self, slot: u32) {
        simd::prefetch(&self.chunks, place(slot).0, 1);
    }

    /// Asks for the memory of a row.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        let (chunk, at) = place(slot);
        simd::prefetch(self.chunks[chunk].words(), at * self.row_words, self.row_words);
    }

    /// All rows in use with their slots, in order of slots.
    pub(super) fn live(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let rows = self.chunks.iter().flat_map(|chunk| chunk.words().chunks_exact(self.row_words));
        (0..self.slots).zip(rows).filter(|(_, row)| row[3] & LIVE != 0)
    }

    /// Bytes beside the blocks.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Part>() + self.free.capacity() * size_of::<u32>()
    }
}

/// Where a slot is: its chunk, and which row of it. Like a floating-point number, whose exponent grows with its value and whose
/// leading digits are the chunks of one size.
#[inline]
fn place(slot: u32) -> (usize, usize) {
    let scaled = slot / FIRST + (1 << STEPS);
    let exponent = scaled.ilog2() - STEPS;
    let leading = scaled >> exponent;
    let chunk = (exponent << STEPS) + leading - (1 << STEPS);
    let start = ((leading << exponent) - (1 << STEPS)) * FIRST;
    (chunk as usize, (slot - start) as usize)
}

fn rows_of_chunk(chunk: usize) -> usize {
    (FIRST as usize) << (chunk >> STEPS)
}

#[test]
fn slots_follow_each_other_through_the_chunks() {
    let (mut chunk, mut at) = (0, 0);
    for slot in 0..100_000 {
        assert_eq!(place(slot), (chunk, at), "slot {slot}");
        at += 1;
        if at == rows_of_chunk(chunk) {
            (chunk, at) = (chunk + 1, 0);
        }
    }
    let last = super::index::SLOTS - 1;
    let (chunk, at) = place(last);
    assert!(at < rows_of_chunk(chunk) && rows_of_chunk(chunk) <= last as usize / 15);
}
