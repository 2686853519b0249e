//! Data sets: samples from files into batches of tensors.
//!
//! Text files in the MultiSlot format, and columns of CSV and Parquet files, are parsed by [`QueueDataset`] while they are used, or loaded and shuffled by
//! [`InMemoryDataset`]. [`DataFeeder`] makes batches of samples that a program holds already. [`recordio`] reads and writes
//! files of records.
//!
//! A [`Dataset`] begins a pass, which is a [`BatchSource`] for each thread that trains. Bytes come from `input/`, are
//! parsed to columns in `parse/`, and wait as packed samples in `memory/` or in the queue of `queue_dataset.rs`.
//! [`NextBatch`] shows the batch after the one in use, so that a trainer can prefetch rows from servers.
//!
//! This module knows tensors and files; it knows no executor, and no program beyond the variables it fills.

mod batch;
mod channel;
pub(crate) mod column;
mod convert;
mod criteo;
mod feeder;
mod input;
mod memory;
mod parse;
mod queue_dataset;
mod random;
mod slots;
mod stat;

pub(crate) use channel::GLANCE;
pub(crate) use random::Random;

pub use crate::format::recordio;
pub use batch::{Batch, BatchSource, Dataset, Pass};
pub use column::Texts;
pub use convert::{Converted, convert};
pub use criteo::{CriteoOptions, CriteoSummary, criteo_slots, write_criteo};
pub use feeder::{DataFeeder, Item};
pub use input::source::Source;
pub use memory::budget::MemoryLimit;
pub use memory::exchange::{Alone, Exchange, SampleParts, ShuffleBy};
pub use memory::merge::Merged;
pub use memory::{InMemoryDataset, Loaded, MemoryReader};
pub use parse::file_rows::Progress;
pub use parse::multislot::{BadLines, Extra, Format, Leading};
pub use parse::records::{Csv, Records, TableColumns};
pub use queue_dataset::{QueueDataset, QueueReader, QueueRun};
pub use slots::{SlotSpec, SlotType};
pub use stat::{DatasetStat, SlotStat, describe, guess_slots};
