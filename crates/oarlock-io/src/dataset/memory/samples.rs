//! Packed samples in memory, in an order that can be changed without moving them.

use std::sync::Arc;

use oarlock_ir::Result;

use super::budget::Budget;
use crate::dataset::random::Random;

/// Samples are put into pieces of this size, so that growing copies nothing.
const CHUNK: usize = 1 << 20;

/// Where a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) chunk: u32,
    start: u32,
}

/// Packed samples. A copy shares the bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    chunks: Vec<Arc<Vec<u8>>>,
    /// The samples in order.
    pub(crate) order: Vec<Address>,
}

impl Samples {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let packed: usize = self.chunks.iter().map(|c| c.capacity()).sum();
        (packed + self.order.capacity() * size_of::<Address>()) as u64
    }

    /// The packed sample at an address of this collection.
    pub(crate) fn get(&self, at: Address) -> &[u8] {
        let chunk = &self.chunks[at.chunk as usize];
        let (head, rest) = chunk[at.start as usize..].split_at(size_of::<u32>());
        let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        &rest[..len as usize]
    }

    pub(crate) fn shuffle(&mut self, seed: u64) {
        Random::new(seed).shuffle(&mut self.order);
    }

    /// Gives a chunk's memory back once no sample of it is needed; returns how many bytes that were.
    pub(crate) fn forget_chunk(&mut self, chunk: u32) -> u64 {
        std::mem::take(&mut self.chunks[chunk as usize]).capacity() as u64
    }

    /// Joins what several threads have packed; `parts` says for each part of the order which thread packed it.
    pub(crate) fn join(packed: Vec<Packer<'_>>, parts: Vec<(usize, Vec<Address>)>) -> Samples {
        let mut chunks = Vec::new();
        let mut first = Vec::new();
        for packer in packed {
            first.push(chunks.len() as u32);
            chunks.extend(packer.finish().into_iter().map(Arc::new));
        }
        let moved = |by: u32| move |at: Address| Address { chunk: at.chunk + by, start: at.start };
        let order = parts.into_iter().flat_map(|(i, part)| part.into_iter().map(moved(first[i]))).collect();
        Samples { chunks, order }
    }
}

/// One thread's growing collection.
pub(crate) struct Packer<'a> {
    chunks: Vec<Vec<u8>>,
    budget: &'a Budget,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Packer<'a> {
        Packer { chunks: Vec::new(), budget }
    }

    /// Adds a packed sample.
    pub(crate) fn push(&mut self, sample: &[u8]) -> Result<Address> {
        let need = size_of::<u32>() + sample.len();
        if self.chunks.last().is_none_or(|c| c.capacity() - c.len() < need) {
            let size = need.max(CHUNK);
            self.budget.take(size as u64)?;
            self.chunks.push(Vec::with_capacity(size));
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        // A chunk is not longer than the longest line by much, so 32 bits hold every place in it.
        let at = Address { chunk: index as u32, start: chunk.len() as u32 };
        chunk.extend_from_slice(&(sample.len() as u32).to_le_bytes());
        chunk.extend_from_slice(sample);
        Ok(at)
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        if let Some(last) = self.chunks.last_mut() {
            last.shrink_to_fit();
        }
        self.chunks
    }
}
