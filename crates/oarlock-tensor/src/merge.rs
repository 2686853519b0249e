//! Summing repeated rows: gradients of an embedding, ids of a batch that are asked for once.
//!
//! Any number is a row id. Which rows a table has is the caller's business.

use crate::{Float, simd};

/// Below this many rows a comparison sort is faster than clearing the counters of a radix sort.
const FEW: usize = 512;

/// Bits of a row id that one pass of the radix sort looks at.
const DIGIT: u32 = 11;

/// Where one row came from.
#[derive(Clone, Copy, Default)]
struct Entry {
    row: i64,
    part: u32,
    at: u32,
}

/// The rows of several row-sparse tensors in ascending order; equal rows stay in the order in which they came.
/// Keeps its memory from call to call.
#[derive(Default)]
pub struct RowOrder {
    entries: Vec<Entry>,
    spare: Vec<Entry>,
    distinct: usize,
}

impl RowOrder {
    /// Orders the rows of all parts; returns how many different ones there are.
    pub fn sort<'a>(&mut self, parts: impl IntoIterator<Item = &'a [i64]>) -> usize {
        self.clear();
        for (part, rows) in parts.into_iter().enumerate() {
            self.push(part, rows);
        }
        self.finish()
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds the rows of one more part.
    pub fn push(&mut self, part: usize, rows: &[i64]) {
        let entry = |(at, &row): (usize, &i64)| Entry { row, part: part as u32, at: at as u32 };
        self.entries.extend(rows.iter().enumerate().map(entry));
    }

    /// Orders the rows added since [`RowOrder::clear`]; returns how many different ones there are.
    pub fn finish(&mut self) -> usize {
        if self.entries.len() < FEW {
            self.entries.sort_unstable_by_key(|e| (e.row, e.part, e.at));
        } else {
            self.radix_sort();
        }
        let changes = self.entries.windows(2).filter(|w| w[0].row != w[1].row).count();
        self.distinct = if self.entries.is_empty() { 0 } else { changes + 1 };
        self.distinct
    }

    /// Least significant digit first; each pass is stable. Most ids are small and not negative, which saves passes.
    fn radix_sort(&mut self) {
        let highest = self.entries.iter().fold(0, |all, e| all | e.row as u64);
        // Turning the sign over puts negative ids below the others.
        let sign = highest & (1 << 63);
        self.spare.resize(self.entries.len(), Entry::default());
        let mut shift = 0;
        while shift < u64::BITS && highest >> shift > 0 {
            radix_pass(&self.entries, &mut self.spare, shift, sign);
            std::mem::swap(&mut self.entries, &mut self.spare);
            shift += DIGIT;
        }
    }

    /// Writes each row once, ascending, with the sum of its values in the order in which they came. `values[part]` are the values of
    /// a part, `width` per row; `rows` and `sums` have room for exactly the distinct rows.
    pub fn gather<T: Float>(&self, width: usize, values: &[&[T]], rows: &mut Vec<i64>, sums: &mut [T]) {
        self.gather_with(width, rows, sums, |part, at| &values[part][at * width..][..width]);
    }

    /// Like [`RowOrder::gather`], with the values of a part's row wherever they are.
    pub fn gather_with<'v, T: Float>(
        &self,
        width: usize,
        rows: &mut Vec<i64>,
        sums: &mut [T],
        values: impl Fn(usize, usize) -> &'v [T],
    ) {
        self.gather_by(width, rows, sums, |sum, part, at, first| match first {
            true => sum.copy_from_slice(values(part, at)),
            false => simd::add_assign(sum, values(part, at)),
        });
    }

    /// Like [`RowOrder::gather`], with values that `add` computes: it writes the first value of a row, and adds the others.
    pub fn gather_by<T: Float>(
        &self,
        width: usize,
        rows: &mut Vec<i64>,
        sums: &mut [T],
        mut add: impl FnMut(&mut [T], usize, usize, bool),
    ) {
        rows.clear();
        rows.reserve(self.distinct);
        let groups = self.entries.chunk_by(|a, b| a.row == b.row);
        for (i, group) in groups.enumerate() {
            rows.push(group[0].row);
            let sum = &mut sums[i * width..][..width];
            for (nth, e) in group.iter().enumerate() {
                add(sum, e.part as usize, e.at as usize, nth == 0);
            }
        }
    }
}

fn radix_pass(from: &[Entry], to: &mut [Entry], shift: u32, sign: u64) {
    const BUCKETS: usize = 1 << DIGIT;
    let digit = |e: &Entry| ((e.row as u64 ^ sign) >> shift) as usize % BUCKETS;
    let mut next = [0u32; BUCKETS];
    for e in from {
        next[digit(e)] += 1;
    }
    let mut start = 0;
    for n in &mut next {
        start += std::mem::replace(n, start);
    }
    for e in from {
        let n = &mut next[digit(e)];
        to[*n as usize] = *e;
        *n += 1;
    }
}

/// Merges the repeated rows of one row-sparse tensor after another, in memory it keeps.
#[derive(Default)]
pub struct RowMerger<T> {
    order: RowOrder,
    rows: Vec<i64>,
    sums: Vec<T>,
}

impl<T: Float> RowMerger<T> {
    /// The rows in ascending order, each once, and the sums of their values. `values` holds `width` elements per row.
    pub fn merge<'a>(&'a mut self, rows: &'a [i64], values: &'a [T], width: usize) -> (&'a [i64], &'a [T]) {
        if rows.windows(2).all(|w| w[0] < w[1]) {
            return (rows, values);
        }
        let distinct = self.order.sort([rows]);
        self.sums.resize(distinct * width, T::ZERO);
        self.order.gather(width, &[values], &mut self.rows, &mut self.sums);
        (&self.rows, &self.sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_rows_are_summed_in_order_of_appearance() {
        let mut m = RowMerger::default();
        let values = [1.0f32, 10.0, 2.0, 20.0, 4.0, 40.0, 8.0, 80.0];
        let (rows, sums) = m.merge(&[5, 1, 5, 0], &values, 2);
        assert_eq!(rows, [0, 1, 5]);
        assert_eq!(sums, [8.0, 80.0, 2.0, 20.0, 5.0, 50.0]);
        // f32 addition is not associative: (2^24 + 1) + 1 is not 2^24 + (1 + 1).
        let (_, sums) = m.merge(&[3, 3, 3], &[16_777_216.0, 1.0, 1.0], 1);
        assert_eq!(sums, [16_777_216.0]);
        let (rows, sums) = m.merge(&[], &[], 3);
        assert!(rows.is_empty() && sums.is_empty());
    }

    #[test]
    fn ascending_rows_are_not_copied() {
        let mut m = RowMerger::default();
        let values = [1.0f32, 2.0];
        assert_eq!(m.merge(&[2, 7], &values, 1).1.as_ptr(), values.as_ptr());
    }

    #[test]
    fn both_sorts_of_rows_agree() {
        let ids = |n: usize| (0..n as i64).map(|i| i * 2_654_435_761 % 100_003 % 977);
        let rows: Vec<i64> = ids(3 * FEW).collect();
        let mut expected: Vec<(i64, u32)> = rows.iter().zip(0..).map(|(&r, i)| (r, i)).collect();
        expected.sort_unstable();
        let mut order = RowOrder::default();
        order.sort([&rows[..]]);
        let found: Vec<(i64, u32)> = order.entries.iter().map(|e| (e.row, e.at)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_of_any_size_are_sorted() {
        let rows: Vec<i64> = (0..FEW as i64).map(|i| (i * 320_255_973_501_901).wrapping_mul(977) ^ (i << 60)).collect();
        let mut order = RowOrder::default();
        assert_eq!(order.sort([&rows[..]]), FEW);
        assert!(order.entries.windows(2).all(|w| w[0].row < w[1].row));
    }
}
