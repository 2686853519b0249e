//! Data sets: samples from files into batches of tensors.
//!
//! Text files in the MultiSlot format, and columns of CSV and Parquet files, are parsed by [`QueueDataset`] while they are used, or loaded and shuffled by
//! [`InMemoryDataset`]. [`DataFeeder`] makes batches of samples that a program holds already. [`recordio`] reads and writes
//! files of records. This module knows tensors and files; it knows no program beyond the variables it fills.

mod batch;
mod budget;
mod channel;
mod column;
mod convert;
mod criteo;
mod csv;
mod exchange;
mod feeder;
mod memory;
mod merge;
mod mix;
mod number;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
mod parse;
mod pipe;
mod queue;
pub mod recordio;
mod rows;
mod samples;
mod slots;
mod source;
mod stat;
mod table;
mod zstd;

pub(crate) use channel::GLANCE;
pub(crate) use mix::Random;

pub use batch::{Batch, BatchSource, Dataset, Pass};
pub use budget::MemoryLimit;
pub use column::Texts;
pub use convert::{Converted, convert};
pub use criteo::{CriteoOptions, CriteoSummary, criteo_slots, write_criteo};
pub use exchange::{Alone, Exchange, Round, ShuffleBy};
pub use feeder::{DataFeeder, Item};
pub use memory::{InMemoryDataset, Loaded, MemoryReader};
pub use merge::Merged;
pub use parse::{BadLines, Extra, Format, Leading};
pub use queue::{QueueDataset, QueueReader, QueueRun};
pub use rows::Progress;
pub use slots::{SlotSpec, SlotType};
pub use source::Source;
pub use stat::{DatasetStat, SlotStat, describe, guess_slots};
pub use table::{Csv, Records, Table};
