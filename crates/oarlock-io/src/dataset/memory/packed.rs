//! Samples in as few bytes as is cheap, each in one piece.
//!
//! A training pass takes samples in random order. A sample in one piece costs one trip to memory; a column per slot would
//! cost one per slot. The same bytes travel between trainers when samples are exchanged.
//!
//! A packed sample is its texts (`length bytes` each) and then, for each used slot, `count and width` and the values in
//! `width` bytes each: 4 for floats, as many as the largest of the group needs for ids. Lengths and `count << 3 | width - 1`
//! are variable-length integers, so small groups have a head of one byte.

use oarlock_ir::{Error, Result};

use crate::dataset::column::{Columns, Values};
use crate::dataset::slots::SlotSpec;

/// Which values of a sparse slot are left out: Fluid takes zeros for padding.
const SMALLEST: f32 = 1e-6;

/// Appends row `row` of `columns`. Zeros of sparse slots are left out.
pub(crate) fn pack(slots: &[SlotSpec], columns: &Columns, row: usize, out: &mut Vec<u8>) {
    for texts in &columns.texts {
        let text = texts.get(row);
        varint(text.len() as u64, out);
        out.extend_from_slice(text);
    }
    for (slot, column) in slots.iter().zip(&columns.slots).filter(|(slot, _)| slot.is_used()) {
        let range = column.lengths.range(row);
        match &column.values {
            Values::Float(v) => pack_floats(&v[range], slot.is_dense(), out),
            Values::Id(v) => pack_ids(&v[range], slot.is_dense(), out),
        }
    }
}

pub(crate) fn pack_floats(values: &[f32], keep_zeros: bool, out: &mut Vec<u8>) {
    let kept = |v: &&f32| keep_zeros || v.is_nan() || v.abs() >= SMALLEST;
    head(values.iter().filter(kept).count(), size_of::<f32>(), out);
    values.iter().filter(kept).for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

pub(crate) fn pack_ids(values: &[i64], keep_zeros: bool, out: &mut Vec<u8>) {
    let kept = |v: &&i64| keep_zeros || **v != 0;
    let all = values.iter().fold(0u64, |bits, &v| bits | v as u64);
    let width = (8 - all.leading_zeros() as usize / 8).max(1);
    head(values.iter().filter(kept).count(), width, out);
    values.iter().filter(kept).for_each(|v| out.extend_from_slice(&v.to_le_bytes()[..width]));
}

fn head(count: usize, width: usize, out: &mut Vec<u8>) {
    varint((count as u64) << 3 | (width as u64 - 1), out);
}

fn varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// A packed sample being read.
pub(crate) struct Unpack<'a>(pub(crate) &'a [u8]);

impl<'a> Unpack<'a> {
    #[inline]
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(part)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let (mut v, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)?[0];
            v |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some(v);
            }
        }
    }

    /// The next text.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let n = self.varint()?;
        self.take(usize::try_from(n).ok()?)
    }

    /// The next group of values: its bytes, and the width of each.
    #[inline]
    fn group(&mut self) -> Option<(&'a [u8], usize)> {
        let head = self.varint()?;
        let width = (head & 7) as usize + 1;
        let bytes = usize::try_from(head >> 3).ok()?.checked_mul(width)?;
        Some((self.take(bytes)?, width))
    }

    /// Appends the next group to `values`; returns how many there were.
    #[inline]
    pub(crate) fn values(&mut self, values: &mut Values) -> Option<usize> {
        let (bytes, width) = self.group()?;
        match values {
            Values::Float(v) => {
                if width != size_of::<f32>() {
                    return None;
                }
                v.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)));
            }
            Values::Id(v) => v.extend(bytes.chunks_exact(width).map(id)),
        }
        Some(bytes.len() / width)
    }
}

/// An id of at most 8 bytes.
#[inline]
fn id(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |v, &b| v << 8 | i64::from(b))
}

/// Adds a packed sample as a row; a slot whose values were all left out gets a single 0.
pub(crate) fn unpack(slots: &[SlotSpec], bytes: &[u8], columns: &mut Columns) -> Result<()> {
    let damaged = || Error::internal("a sample in memory is damaged");
    let mut sample = Unpack(bytes);
    for texts in &mut columns.texts {
        texts.push(sample.text().ok_or_else(damaged)?);
    }
    for (slot, column) in slots.iter().zip(&mut columns.slots).filter(|(slot, _)| slot.is_used()) {
        let mut count = sample.values(&mut column.values).ok_or_else(damaged)?;
        if count == 0 && !slot.is_dense() {
            match &mut column.values {
                Values::Float(v) => v.push(0.0),
                Values::Id(v) => v.push(0),
            }
            count = 1;
        }
        column.lengths.push(count);
    }
    if !sample.0.is_empty() {
        return Err(damaged());
    }
    columns.end_row();
    Ok(())
}
