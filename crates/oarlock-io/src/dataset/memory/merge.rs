//! Samples with the same line id into one: a sample whose slots come from several lines.

use oarlock_ir::{Error, Kind, Result};

use super::budget::Budget;
use super::packed::{Unpack, pack_floats, pack_ids};
use super::samples::{Address, Packer, Samples};
use crate::dataset::column::Values;
use crate::dataset::parse::multislot::{Format, Leading};
use crate::dataset::slots::{SlotSpec, SlotType};

/// A summary of merging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// Samples there are now.
    pub samples: usize,
    /// Samples that were dropped: their group had not the right size, or two of them filled one sparse slot.
    pub dropped: usize,
}

/// Which of the texts identifies a sample.
pub(crate) fn line_id_index(format: &Format) -> Result<usize> {
    let find = |what| format.leading.iter().position(|l| *l == what);
    find(Leading::LineId).or_else(|| find(Leading::LogKey)).ok_or_else(|| {
        Error::new(Kind::Argument, "samples cannot be told apart: their lines have no line id")
            .help("read the line id (`set_parse_ins_id`); the data generator must print it in front of the slots")
    })
}

/// The line id of a packed sample.
pub(crate) fn line_id(sample: &[u8], index: usize) -> &[u8] {
    let mut unpack = Unpack(sample);
    (0..=index).map_while(|_| unpack.text()).nth(index).unwrap_or_default()
}

/// Merges samples with equal line ids, in the order of ids. With a `size`, groups of any other size are dropped.
pub(crate) fn merge(
    samples: &Samples,
    format: &Format,
    size: Option<usize>,
    budget: &Budget,
) -> Result<(Samples, Merged)> {
    let index = line_id_index(format)?;
    let id = |at: &Address| line_id(samples.get(*at), index);
    let mut sorted = samples.order.clone();
    // Stable: within a group the order of the samples stays, because a later dense slot wins over an earlier one.
    sorted.sort_by(|a, b| id(a).cmp(id(b)));
    let mut packer = Packer::new(budget);
    let (mut order, mut dropped, mut packed) = (Vec::new(), 0, Vec::new());
    for group in sorted.chunk_by(|a, b| id(a) == id(b)) {
        let parts: Vec<&[u8]> = group.iter().map(|at| samples.get(*at)).collect();
        packed.clear();
        if size.is_some_and(|n| n != group.len()) || !merge_group(format, &parts, &mut packed)? {
            dropped += group.len();
            continue;
        }
        order.push(packer.push(&packed)?);
    }
    let merged = Merged { samples: order.len(), dropped };
    Ok((Samples::join(vec![packer], vec![(0, order)]), merged))
}

/// Appends the sample made of `parts`; false if two of them have values for the same sparse slot.
fn merge_group(format: &Format, parts: &[&[u8]], out: &mut Vec<u8>) -> Result<bool> {
    let damaged = || Error::internal("a sample in memory is damaged");
    let mut rest: Vec<Unpack<'_>> = parts.iter().map(|p| Unpack(p)).collect();
    // Texts are those of the first part.
    for _ in &format.leading {
        for part in &mut rest {
            part.text().ok_or_else(damaged)?;
        }
    }
    out.extend_from_slice(&parts[0][..parts[0].len() - rest[0].0.len()]);
    for slot in format.slots.iter().filter(|s| s.is_used()) {
        let mut merged = None;
        for part in &mut rest {
            let mut values = empty(slot);
            part.values(&mut values).ok_or_else(damaged)?;
            if !fill(&mut merged, slot, values) {
                return Ok(false);
            }
        }
        match merged.unwrap_or_else(|| empty(slot)) {
            Values::Float(v) => pack_floats(&v, slot.is_dense(), out),
            Values::Id(v) => pack_ids(&v, slot.is_dense(), out),
        }
    }
    Ok(true)
}

fn empty(slot: &SlotSpec) -> Values {
    match slot.ty() {
        SlotType::Float => Values::Float(Vec::new()),
        SlotType::Id => Values::Id(Vec::new()),
    }
}

/// Gives a slot its values, unless it has some. Of dense slots, which every line has, the last one that is not all zeros
/// counts. False if a sparse slot has values already.
fn fill(merged: &mut Option<Values>, slot: &SlotSpec, values: Values) -> bool {
    let blank = match &values {
        Values::Float(v) => v.iter().all(|v| v.abs() < 1e-6),
        Values::Id(v) => v.iter().all(|v| *v == 0),
    };
    if blank && (merged.is_some() || !slot.is_dense()) {
        return true;
    }
    merged.replace(values).is_none() || slot.is_dense()
}
