//! From id to slot: open addressing over 32-bit handles. Ids are not kept here but in the rows, which a lookup touches anyway.
//!
//! A handle: bits 0 to 23 the slot; bits 24 to 30 the tag, seven bits of the hash, so that nearly every row that is looked at is
//! the one that is wanted; bit 31 the tier, 0 for memory, 1 for rows that lie elsewhere (none so far).

use crate::simd;

/// The largest number of slots of a shard.
pub(super) const SLOTS: u32 = (1 << 24) - 1;

const SLOT: u32 = (1 << 24) - 1;
/// No row has this handle, since `SLOT` as a slot is not given out.
const EMPTY: u32 = u32::MAX;
/// The smallest index that is not empty.
const LEAST: usize = 8;
/// The number of handles that are prefetched before a lookup: mostly it ends within them.
const PROBES: usize = 8;

/// Bits of the hash choose the shard (54 to 63), the place in the index (22 to 53) and the tag (0 to 6).
fn tag(hash: u64) -> u32 {
    (hash as u32 & 0x7f) << 24
}

/// Grown before more than four fifths are used, by a quarter: memory matters more than the time to build it anew.
#[derive(Default)]
pub(super) struct Index {
    handles: Vec<u32>,
    used: usize,
}

impl Index {
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let fraction = u64::from((hash >> 22) as u32);
        ((fraction * self.handles.len() as u64) >> 32) as usize
    }

    /// The place after another; the first follows the last.
    #[inline]
    fn next(&self, at: usize) -> usize {
        if at + 1 < self.handles.len() { at + 1 } else { 0 }
    }

    /// The slot with this hash for which `is_it` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mut at = self.home(hash);
        // There is no place at all in a new index; in any other one there is an empty one.
        while let Some(&handle) = self.handles.get(at).filter(|&&handle| handle != EMPTY) {
            let slot = handle & SLOT;
            if handle & !SLOT == tag && is_it(slot) {
                return Some(slot);
            }
            at = self.next(at);
        }
        None
    }

    /// Asks for the memory where a lookup begins.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        simd::prefetch(&self.handles, self.home(hash), PROBES);
    }

    /// Is there room for one more?
    pub(super) fn has_room(&self) -> bool {
        (self.used + 1) * 5 <= self.handles.len() * 4
    }

    /// Adds a slot that is not there yet; there is room.
    pub(super) fn insert(&mut self, hash: u64, slot: u32) {
        let mut at = self.home(hash);
        while self.handles[at] != EMPTY {
            at = self.next(at);
        }
        self.handles[at] = tag(hash) | slot;
        self.used += 1;
    }

    /// Makes the index larger and empty; the caller fills it again.
    pub(super) fn grow(&mut self) {
        let len = (self.handles.len() + self.handles.len() / 4).max(LEAST);
        // Freed before the new one is allocated, which then may take its place.
        self.handles = Vec::new();
        self.handles = vec![EMPTY; len];
        self.used = 0;
    }

    /// Forgets all slots.
    pub(super) fn clear(&mut self) {
        self.handles.fill(EMPTY);
        self.used = 0;
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.handles.capacity() * size_of::<u32>()
    }
}

#[test]
fn every_slot_is_found_and_no_other() {
    let hash = |i: u32| crate::rng::mix(u64::from(i));
    let mut index = Index::default();
    assert_eq!(index.find(7, |_| true), None);
    for n in 0..2000 {
        if !index.has_room() {
            index.grow();
            (0..n).for_each(|i| index.insert(hash(i), i));
        }
        index.insert(hash(n), n);
    }
    for i in 0..4000 {
        assert_eq!(index.find(hash(i), |slot| slot == i), (i < 2000).then_some(i));
    }
    index.clear();
    assert_eq!(index.find(hash(3), |_| true), None);
}
