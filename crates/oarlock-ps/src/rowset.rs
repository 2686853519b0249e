//! A set of rows of a table: one bit per row.

/// Rows that were marked.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    bits: Vec<u64>,
    /// No word before this one has a bit.
    first: usize,
}

impl RowSet {
    /// Marks a row of a table; the caller has checked that it exists.
    pub(crate) fn mark(&mut self, row: usize) {
        let word = row / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (row % 64);
        self.first = self.first.min(word);
    }

    /// All marked rows, ascending. They stay marked.
    pub(crate) fn marked(&self) -> impl Iterator<Item = i64> + '_ {
        let words = self.bits.iter().enumerate();
        words.flat_map(|(word, bits)| {
            let marked = move |bit: &i64| *bits >> *bit & 1 == 1;
            (0..64).filter(marked).map(move |bit| word as i64 * 64 + bit)
        })
    }

    /// All marked rows, ascending; none is marked afterwards.
    pub(crate) fn take(&mut self) -> Vec<i64> {
        self.take_some(usize::MAX)
    }

    /// The first marked rows, at most `most`, ascending; they are not marked afterwards.
    pub(crate) fn take_some(&mut self, most: usize) -> Vec<i64> {
        let mut rows = Vec::new();
        while let Some(bits) = self.bits.get_mut(self.first) {
            while *bits != 0 {
                if rows.len() == most {
                    return rows;
                }
                rows.push(self.first as i64 * 64 + i64::from(bits.trailing_zeros()));
                *bits &= *bits - 1;
            }
            self.first += 1;
        }
        rows
    }
}

#[test]
fn marked_rows_are_returned_once_and_in_order() {
    let mut set = RowSet::default();
    [700, 3, 64, 3, 63].into_iter().for_each(|row| set.mark(row));
    assert_eq!(set.take_some(0), [0_i64; 0]);
    assert_eq!(set.take_some(2), [3, 63]);
    set.mark(9);
    assert_eq!(set.marked().collect::<Vec<_>>(), [9, 64, 700]);
    assert_eq!(set.take(), [9, 64, 700]);
    assert!(set.take().is_empty());
    set.mark(0);
    assert_eq!(set.take_some(1), [0]);
}
