//! Another reader's items, several as one: `batch`.

use std::sync::atomic::AtomicBool;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Lod, Tensor};

use super::{ReaderVar, TensorReader};

/// Joins `size` items along their first dimension.
pub(crate) struct Batched {
    inner: ReaderVar,
    size: usize,
    /// Is an incomplete last batch left out?
    discard: bool,
}

impl Batched {
    pub(crate) fn new(inner: ReaderVar, size: usize, discard: bool) -> Batched {
        Batched { inner, size: size.max(1), discard }
    }
}

impl TensorReader for Batched {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        let mut items = Vec::with_capacity(self.size);
        while items.len() < self.size
            && let Some(item) = self.inner.next(stop)?
        {
            items.push(item);
        }
        if items.is_empty() || self.discard && items.len() < self.size {
            return Ok(None);
        }
        let tensors = items[0].len();
        (0..tensors).map(|i| join(i, &items)).collect::<Result<_>>().map(Some)
    }

    fn reset(&mut self) -> Result<()> {
        self.inner.reset()
    }
}

/// The tensor at a position of all items, one below the other; sequences stay sequences.
fn join(at: usize, items: &[Vec<Tensor>]) -> Result<Tensor> {
    let parts: Vec<&Tensor> = items.iter().filter_map(|item| item.get(at)).collect();
    let first = parts[0];
    let alike = |t: &&Tensor| {
        t.dtype() == first.dtype()
            && t.dims().get(1..) == first.dims().get(1..)
            && t.dims().rank() > 0
            && t.lod().levels().len() == first.lod().levels().len()
    };
    if parts.len() != items.len() || !parts.iter().all(alike) {
        let what = format!("tensor {at} is not the same in all items of a batch: they differ in type, width or levels");
        return Err(Error::new(Kind::Shape, what).help("pad the samples before they are written, or use batches of 1"));
    }
    let mut dims = *first.dims();
    dims[0] = parts.iter().map(|t| t.rows()).sum();
    let mut joined = Tensor::zeros(first.dtype(), dims);
    let mut start = 0;
    for part in &parts {
        joined.bytes_mut()[start..start + part.bytes().len()].copy_from_slice(part.bytes());
        start += part.bytes().len();
    }
    let levels = first.lod().levels().len();
    if levels > 0 {
        let level = |l: usize| parts.iter().flat_map(|t| t.lod().lengths()[l].clone()).collect();
        joined.set_lod(Lod::from_lengths(&(0..levels).map(level).collect::<Vec<_>>()));
    }
    Ok(joined)
}
