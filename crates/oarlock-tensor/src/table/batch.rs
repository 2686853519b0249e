//! The ids of one call, grouped by shard.

use std::ops::Range;

use super::{SHARDS, shard_of};

/// The number of rows that are prefetched at once before the first of them is used: more than memory serves at a time, few enough to stay
/// in the nearest cache.
pub(super) const WINDOW: usize = 64;

/// One id of a call.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) id: i64,
    /// Its position in the call.
    pub(super) at: u32,
}

/// The ids of a call, grouped by shard; in a shard they keep their order. Keeps its memory from call to call.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Entry>,
    /// Where the entries of each shard begin, and where the last ones end.
    starts: Vec<u32>,
}

impl Batch {
    /// Groups the ids of a call, of which there are at most `u32::MAX`.
    pub(super) fn group(&mut self, ids: &[i64]) {
        let mut next = [0u32; SHARDS];
        for &id in ids {
            next[shard_of(id)] += 1;
        }
        self.starts.clear();
        let mut start = 0;
        for n in &mut next {
            self.starts.push(start);
            start += std::mem::replace(n, start);
        }
        self.starts.push(start);
        self.entries.resize(ids.len(), Entry::default());
        for (at, &id) in ids.iter().enumerate() {
            let n = &mut next[shard_of(id)];
            self.entries[*n as usize] = Entry { id, at: at as u32 };
            *n += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries of some shards.
    pub(super) fn of(&self, shards: Range<usize>) -> &[Entry] {
        &self.entries[self.starts[shards.start] as usize..self.starts[shards.end] as usize]
    }

    /// The entries of some shards, in pieces of one shard each. Only the last piece of a shard is shorter than [`WINDOW`].
    pub(super) fn pieces(&self, shards: Range<usize>) -> impl Iterator<Item = (usize, &[Entry])> {
        shards.flat_map(|shard| self.of(shard..shard + 1).chunks(WINDOW).map(move |piece| (shard, piece)))
    }

    /// Is no id there twice?
    pub(super) fn is_unique(&self) -> bool {
        let mut ids: Vec<i64> = self.entries.iter().map(|e| e.id).collect();
        ids.sort_unstable();
        ids.windows(2).all(|w| w[0] != w[1])
    }
}
