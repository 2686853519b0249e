//! Rows as they were at some moment, kept when they change after it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::SHARD_BITS;
use crate::rng::mix;

/// A map keyed by id, for the ids of one shard.
pub(super) type ById<T> = HashMap<i64, T, BuildHasherDefault<IdHasher>>;

/// Hashes ids of one shard, which agree in the leading bits of their mix.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }
    fn write_i64(&mut self, id: i64) {
        self.0 = mix(id as u64).rotate_left(SHARD_BITS);
    }
}

/// The rows of one shard that changed since a moment, as they were then.
#[derive(Default)]
pub(super) struct Saved {
    /// Where an id stands in `ids`.
    at: ById<u32>,
    /// In order of their first change: an id and where its words begin; `None` if there was no such row.
    ids: Vec<(i64, Option<usize>)>,
    words: Vec<u32>,
    row_words: usize,
}

impl Saved {
    pub(super) fn new(row_words: usize) -> Saved {
        Saved { row_words, ..Saved::default() }
    }

    /// Row `id` is about to change and has these words, or is about to be made. Only the first change counts.
    pub(super) fn keep(&mut self, id: i64, row: Option<&[u32]>) {
        let next = self.ids.len() as u32;
        if *self.at.entry(id).or_insert(next) == next {
            self.ids.push((id, row.map(|_| self.words.len())));
            self.words.extend_from_slice(row.unwrap_or_default());
        }
    }

    /// The words of `id` at that moment, if it changed since: `Some(None)` if there was no such row.
    pub(super) fn get(&self, id: i64) -> Option<Option<&[u32]>> {
        self.at.get(&id).map(|&at| self.row(self.ids[at as usize].1))
    }

    /// All rows that changed, in order of their first change.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, Option<&[u32]>)> {
        self.ids.iter().map(|&(id, start)| (id, self.row(start)))
    }

    fn row(&self, start: Option<usize>) -> Option<&[u32]> {
        start.map(|start| &self.words[start..][..self.row_words])
    }

    /// Forgets all rows and keeps the memory for the next.
    pub(super) fn clear(&mut self) {
        self.at.clear();
        self.ids.clear();
        self.words.clear();
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(i64, u32)>() + 1;
        self.at.capacity() * entry + self.ids.capacity() * size_of::<(i64, Option<usize>)>() + self.words.capacity() * 4
    }
}
