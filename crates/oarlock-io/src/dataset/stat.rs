//! Statistics of a MultiSlot data set, slot by slot. The files name neither slots nor types, so both are guessed if not given.

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Tensor};

use super::batch::{Batch, BatchSource};
use super::input::source::Source;
use super::parse::file_rows::each_line;
use super::parse::multislot::{BadLines, Format};
use super::parse::number::{id, unsigned};
use super::queue_dataset::QueueDataset;
use super::slots::{SlotSpec, SlotType};

/// Lines of each file that are looked at to guess the slots.
const GUESS_LINES: u64 = 10_000;

/// Statistics of a data set. `Display` makes a table of them.
#[derive(Debug, Clone)]
pub struct DatasetStat {
    /// Samples.
    pub samples: u64,
    /// Bad lines that were left out.
    pub skipped: u64,
    /// The error of the first of them.
    pub first_skipped: Option<Error>,
    /// The slots, in order.
    pub slots: Vec<SlotStat>,
}

/// Statistics of a slot.
#[derive(Debug, Clone)]
pub struct SlotStat {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub ty: SlotType,
    /// Values of all samples.
    pub values: u64,
    /// The fewest and the most values of a sample.
    pub per_sample: (usize, usize),
    /// The least and the greatest value. Ids beyond 2^53 are rounded.
    pub range: (f64, f64),
    /// The sum of the values.
    pub sum: f64,
    distinct: HashSet<i64>,
}

impl SlotStat {
    fn new(slot: &SlotSpec) -> SlotStat {
        SlotStat {
            name: slot.name().to_string(),
            ty: slot.ty(),
            values: 0,
            per_sample: (usize::MAX, 0),
            range: (f64::INFINITY, f64::NEG_INFINITY),
            sum: 0.0,
            distinct: HashSet::new(),
        }
    }

    /// How many different ids there are; `None` for numbers.
    pub fn distinct(&self) -> Option<usize> {
        (self.ty == SlotType::Id).then_some(self.distinct.len())
    }

    /// The share of ones, if all values are 0 or 1 and every sample has one: a label.
    pub fn label_rate(&self) -> Option<f64> {
        let is_label = self.ty == SlotType::Id && self.per_sample == (1, 1) && self.range == (0.0, 1.0);
        is_label.then(|| self.sum / self.values as f64)
    }

    /// Adds the slot of `rows` samples. One without offsets is dense: every sample has as many values.
    fn add(&mut self, tensor: &Tensor, samples: usize) -> Result<()> {
        let internal = |e: oarlock_tensor::Error| Error::internal(e.to_string());
        let mut count = |n: usize| self.per_sample = (self.per_sample.0.min(n), self.per_sample.1.max(n));
        match tensor.lod().last() {
            Some(ends) => ends.windows(2).for_each(|pair| count(pair[1] - pair[0])),
            None => count(tensor.numel() / samples.max(1)),
        }
        self.values += tensor.numel() as u64;
        if tensor.dtype() == DType::I64 {
            self.distinct.extend(tensor.data::<i64>().map_err(internal)?);
        }
        for v in tensor.to_f64() {
            self.range = (self.range.0.min(v), self.range.1.max(v));
            self.sum += v;
        }
        Ok(())
    }
}

/// Reads a whole data set and describes it; the slots are guessed if they are not given.
pub fn describe(source: &Source, slots: Option<Vec<SlotSpec>>, bad_lines: BadLines) -> Result<DatasetStat> {
    let slots = slots.map_or_else(|| guess_slots(source), Ok)?;
    let mut stats: Vec<SlotStat> = slots.iter().map(SlotStat::new).collect();
    let format = Format { bad_lines, ..Format::strict(slots) };
    let dataset = QueueDataset { source: source.clone(), format, batch_size: 1000, queue: 2 };
    let mut run = dataset.start(1, Arc::<AtomicBool>::default())?;
    let mut batch = Batch::new();
    for mut reader in run.take_readers() {
        while reader.next(&mut batch)? {
            stats.iter_mut().zip(batch.tensors()).try_for_each(|(stat, tensor)| stat.add(tensor, batch.rows()))?;
        }
    }
    let progress = run.progress();
    Ok(DatasetStat {
        samples: progress.samples(),
        skipped: progress.skipped(),
        first_skipped: progress.first_skipped(),
        slots: stats,
    })
}

/// The slots of a data set, from the beginnings of its files: floats where a value is not an integer. Named by number.
pub fn guess_slots(source: &Source) -> Result<Vec<SlotSpec>> {
    let mut types: Vec<SlotType> = Vec::new();
    for name in source.expand()? {
        each_line(source, &name, |number, text| {
            if let Some(found) = line_types(text) {
                types.resize(types.len().max(found.len()), SlotType::Id);
                let floats = types.iter_mut().zip(found).filter(|(_, found)| *found == SlotType::Float);
                floats.for_each(|(ty, _)| *ty = SlotType::Float);
            }
            Ok(if number < GUESS_LINES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
    }
    if types.is_empty() {
        return Err(Error::new(Kind::Format, "no line consists of groups `count v1 ... v_count`")
            .help("is this a MultiSlot data set? `slot:value` text can be converted with `oarlock data convert`"));
    }
    Ok(types.iter().enumerate().map(|(i, ty)| SlotSpec::sparse(format!("slot {i}"), *ty)).collect())
}

/// The types of a line's groups; `None` if the line does not consist of groups.
fn line_types(text: &[u8]) -> Option<Vec<SlotType>> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let mut types = Vec::new();
    while let Some(word) = words.next() {
        let (count, _) = unsigned(word, 0).ok().filter(|(n, _)| *n > 0)?;
        let mut ty = SlotType::Id;
        for _ in 0..count {
            if id(words.next()?, 0).is_err() {
                ty = SlotType::Float;
            }
        }
        types.push(ty);
    }
    Some(types)
}

impl fmt::Display for DatasetStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} samples", self.samples)?;
        if self.skipped > 0 {
            write!(f, ", {} bad lines skipped", self.skipped)?;
        }
        writeln!(f, "\n")?;
        let width = self.slots.iter().map(|s| s.name.len()).max().unwrap_or(0).max(4);
        writeln!(f, "{:width$}  type     per sample      values    distinct  least .. greatest", "slot")?;
        for slot in &self.slots {
            let (least, most) = slot.per_sample;
            let per_sample = if least == most { most.to_string() } else { format!("{least}-{most}") };
            let distinct = slot.distinct().map_or("-".to_string(), |n| n.to_string());
            write!(f, "{:width$}  {:7}  {per_sample:>10}", slot.name, slot.ty.to_string())?;
            write!(f, "  {:>10}  {distinct:>10}  ", slot.values)?;
            match (slot.ty, slot.range) {
                // In the few digits that an f32 has.
                (SlotType::Float, (low, high)) => write!(f, "{} .. {}", low as f32, high as f32)?,
                (SlotType::Id, (low, high)) => write!(f, "{low} .. {high}")?,
            }
            if let Some(rate) = slot.label_rate() {
                write!(f, "  (label, {:.2} % ones)", 100.0 * rate)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
