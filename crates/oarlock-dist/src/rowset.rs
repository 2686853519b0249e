//! A set of rows of a table: one bit per row.

/// Rows that were marked.
#[derive(Debug, Default)]
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    /// Marks a row of a table; who marks rows has seen that they exist.
    pub(crate) fn mark(&mut self, row: usize) {
        if row / 64 >= self.0.len() {
            self.0.resize(row / 64 + 1, 0);
        }
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// All marked rows, ascending; none is marked afterwards.
    pub(crate) fn take(&mut self) -> Vec<i64> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        let mut rows = Vec::with_capacity(count as usize);
        for (word, bits) in self.0.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                rows.push(word as i64 * 64 + i64::from(left.trailing_zeros()));
                left &= left - 1;
            }
        }
        rows
    }
}

#[test]
fn rows_come_back_once_and_in_order() {
    let mut set = RowSet::default();
    [700, 3, 64, 3, 63].into_iter().for_each(|row| set.mark(row));
    assert_eq!(set.take(), [3, 63, 64, 700]);
    assert!(set.take().is_empty());
}
