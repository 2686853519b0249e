//! Samples, column by column: the values of each slot one behind the other. Knows no text and no file.

use std::ops::Range;

use oarlock_ir::Result;
use oarlock_tensor::Lod;

use super::batch::Batch;
use super::slots::{SlotSpec, SlotType};

/// How many values each row has. As long as all have the same number, that number is all that is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lengths {
    rows: usize,
    /// Values per row, while `ends` is empty.
    each: usize,
    /// Where each row ends, once two rows differ.
    ends: Vec<usize>,
}

impl Lengths {
    #[inline]
    pub(crate) fn push(&mut self, n: usize) {
        if self.rows == 0 {
            self.each = n;
        } else if self.ends.is_empty() && n != self.each {
            self.ends.extend((1..=self.rows).map(|row| row * self.each));
        }
        if let Some(&end) = self.ends.last() {
            self.ends.push(end + n);
        }
        self.rows += 1;
    }

    fn pop(&mut self) {
        self.rows -= 1;
        self.ends.pop();
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.ends.clear();
    }

    /// Values of all rows.
    pub(crate) fn total(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.rows * self.each)
    }

    /// Where a row's values are.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        if self.ends.is_empty() {
            return row * self.each..(row + 1) * self.each;
        }
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    fn offsets(&self) -> Vec<usize> {
        let mut offsets = Vec::with_capacity(self.rows + 1);
        offsets.push(0);
        if self.ends.is_empty() {
            offsets.extend((1..=self.rows).map(|row| row * self.each));
        } else {
            offsets.extend_from_slice(&self.ends);
        }
        offsets
    }
}

/// The values of a slot.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Float(Vec<f32>),
    Id(Vec<i64>),
}

impl Values {
    /// Appends a number that stands for a value.
    pub(crate) fn push(&mut self, value: f64) {
        match self {
            Values::Float(v) => v.push(value as f32),
            Values::Id(v) => v.push(value as i64),
        }
    }

    fn truncate(&mut self, n: usize) {
        match self {
            Values::Float(v) => v.truncate(n),
            Values::Id(v) => v.truncate(n),
        }
    }
}

/// A slot of the rows read so far.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) values: Values,
    pub(crate) lengths: Lengths,
}

impl Column {
    fn new(ty: SlotType) -> Column {
        let values = match ty {
            SlotType::Float => Values::Float(Vec::new()),
            SlotType::Id => Values::Id(Vec::new()),
        };
        Column { values, lengths: Lengths::default() }
    }
}

/// Texts of the rows read so far, such as line ids.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    lengths: Lengths,
}

impl Texts {
    /// A row's text, as it stands in the file.
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.lengths.range(row)]
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.lengths.push(text.len());
    }

    pub(crate) fn copy_from(&mut self, other: &Texts) {
        self.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.lengths.clone_from(&other.lengths);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    fn truncate(&mut self, rows: usize) {
        while self.lengths.rows > rows {
            self.lengths.pop();
        }
        self.bytes.truncate(self.lengths.total());
    }
}

/// Rows of samples: a column per slot, in the order of the slots; unused slots have an empty one.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) slots: Vec<Column>,
    pub(crate) texts: Vec<Texts>,
    rows: usize,
    /// LoDs of rows of equal length, by (rows, values per row). Most batches of a data set need the same few.
    even: Vec<((usize, usize), Lod)>,
}

/// How many LoDs are kept.
const KEPT_LODS: usize = 8;

impl Columns {
    /// No rows yet, with `texts` texts each.
    pub(crate) fn new(slots: &[SlotSpec], texts: usize) -> Columns {
        Columns {
            slots: slots.iter().map(|s| Column::new(s.ty())).collect(),
            texts: vec![Texts::default(); texts],
            rows: 0,
            even: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Every column has got its values of one more row.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Forgets what was added since the last complete row.
    pub(crate) fn cancel_row(&mut self) {
        for column in &mut self.slots {
            while column.lengths.rows > self.rows {
                column.lengths.pop();
            }
            column.values.truncate(column.lengths.total());
        }
        self.texts.iter_mut().for_each(|t| t.truncate(self.rows));
    }

    /// Forgets all rows; memory is kept.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        for column in &mut self.slots {
            column.values.truncate(0);
            column.lengths.clear();
        }
        self.texts.iter_mut().for_each(Texts::clear);
    }

    /// Makes the rows a batch and forgets them.
    pub(crate) fn take(&mut self, slots: &[SlotSpec], batch: &mut Batch) -> Result<()> {
        let used = slots.iter().zip(0..).filter(|(slot, _)| slot.is_used());
        batch.reset(self.rows, used.clone().count(), &self.texts);
        for ((slot, i), tensor) in used.zip(batch.tensors_mut()) {
            let column = &self.slots[i];
            tensor.resize(slot.ty().dtype(), slot.dims(column.lengths.total())?);
            let bytes = tensor.bytes_mut();
            match &column.values {
                Values::Float(v) => bytes.copy_from_slice(bytemuck::cast_slice(v)),
                Values::Id(v) => bytes.copy_from_slice(bytemuck::cast_slice(v)),
            }
            // Fluid gives dense slots offsets of values, too. Where a row has several values, they would say nothing
            // about rows, and no program could be fed with them.
            let is_by_row = column.lengths.total() == tensor.rows();
            tensor.set_lod(if is_by_row { lod(&column.lengths, &mut self.even) } else { Lod::NONE });
        }
        self.clear();
        Ok(())
    }
}

fn lod(lengths: &Lengths, even: &mut Vec<((usize, usize), Lod)>) -> Lod {
    if !lengths.ends.is_empty() {
        return Lod::new(vec![lengths.offsets()]);
    }
    let key = (lengths.rows, lengths.each);
    if let Some((_, lod)) = even.iter().find(|(k, _)| *k == key) {
        return lod.clone();
    }
    if even.len() == KEPT_LODS {
        even.remove(0);
    }
    let lod = Lod::new(vec![lengths.offsets()]);
    even.push((key, lod.clone()));
    lod
}

#[test]
fn lengths_are_the_same_whether_rows_differ_or_not() {
    for lengths in [&[2usize, 2, 2][..], &[1, 3, 0, 2], &[0, 0], &[0, 1], &[]] {
        let mut l = Lengths::default();
        let mut start = 0;
        for (row, &n) in lengths.iter().enumerate() {
            l.push(n + 1);
            l.pop();
            l.push(n);
            assert_eq!(l.range(row), start..start + n);
            start += n;
        }
        assert_eq!(l.total(), start);
        assert_eq!(Lod::new(vec![l.offsets()]), Lod::from_lengths(&[lengths.to_vec()]));
    }
}
