//! Another reader's items in random order: `shuffle`.

use std::sync::atomic::AtomicBool;

use oarlock_ir::Result;
use oarlock_tensor::Tensor;

use super::{ReaderVar, TensorReader};
use crate::dataset::Random;

/// Keeps `size` items and gives them in random order, before it takes the next `size`.
pub(crate) struct Shuffled {
    inner: ReaderVar,
    size: usize,
    kept: Vec<Vec<Tensor>>,
    random: Random,
}

impl Shuffled {
    pub(crate) fn new(inner: ReaderVar, size: usize, seed: u64) -> Shuffled {
        Shuffled { inner, size: size.max(1), kept: Vec::new(), random: Random::new(seed) }
    }
}

impl TensorReader for Shuffled {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        if self.kept.is_empty() {
            while self.kept.len() < self.size
                && let Some(item) = self.inner.next(stop)?
            {
                self.kept.push(item);
            }
            self.random.shuffle(&mut self.kept);
        }
        Ok(self.kept.pop())
    }

    fn reset(&mut self) -> Result<()> {
        self.kept.clear();
        self.inner.reset()
    }
}
