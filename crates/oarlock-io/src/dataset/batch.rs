//! Batches, and the interface between a data set and the training loop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use oarlock_ir::Result;
use oarlock_tensor::Tensor;

use super::column::Texts;
use super::parse::file_rows::Progress;
use super::slots::SlotSpec;

/// Some samples: a tensor per used slot, in the order of the slots. Give the same batch to a source again and again, and
/// its memory is used again.
#[derive(Debug, Default)]
pub struct Batch {
    tensors: Vec<Tensor>,
    rows: usize,
    texts: Vec<Texts>,
}

impl Batch {
    /// No samples.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// A batch of `rows` samples in these tensors.
    pub fn of(rows: usize, tensors: Vec<Tensor>) -> Batch {
        Batch { tensors, rows, texts: Vec::new() }
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A tensor per used slot.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensors, to take them out or to put other memory in their place.
    pub fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    /// The texts in front of the slots, in the order in which the [`Format`](super::Format) lists them.
    pub fn texts(&self) -> &[Texts] {
        &self.texts
    }

    pub(crate) fn reset(&mut self, rows: usize, tensors: usize, texts: &[Texts]) {
        self.rows = rows;
        self.tensors.resize_with(tensors, Tensor::new);
        self.texts.resize_with(texts.len(), Texts::default);
        self.texts.iter_mut().zip(texts).for_each(|(to, from)| to.copy_from(from));
    }
}

/// A data set that can be trained on.
pub trait Dataset {
    /// The slots of its samples. The used slots are the tensors of a batch, in order.
    fn slots(&self) -> &[SlotSpec];

    /// Begins a pass for at most `consumers` threads; fewer, if it has not enough for all. Set `stop` to end it soon.
    fn begin(&self, consumers: usize, stop: Arc<AtomicBool>) -> Result<Pass>;
}

/// A pass over a data set.
pub struct Pass {
    /// A source of batches for each thread.
    pub sources: Vec<Box<dyn BatchSource>>,
    /// The progress of reading the files.
    pub progress: Arc<Progress>,
    /// How many samples there are, if that is known.
    pub samples: Option<u64>,
}

/// Where a trainer's thread gets its batches from.
pub trait BatchSource: Send {
    /// Fills `batch` with the next samples; false at the end of the data.
    fn next(&mut self, batch: &mut Batch) -> Result<bool>;

    /// The same if the next samples are there already; false if the caller would have to wait for them, or at the end of the data.
    fn try_next(&mut self, batch: &mut Batch) -> Result<bool>;
}
