//! Row-sparse tensors.

use crate::{Dims, Tensor};

/// Some rows of a tall matrix: what the gradient of an embedding is. Rows may be unsorted and may repeat; a repeated row means the sum.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedRows {
    /// Which row each row of `value` belongs to.
    pub rows: Vec<i64>,
    /// The number of rows of the whole matrix.
    pub height: i64,
    /// `[rows.len(), width...]`.
    pub value: Tensor,
}

impl SelectedRows {
    /// No rows of a matrix without rows.
    pub const fn new() -> SelectedRows {
        SelectedRows { rows: Vec::new(), height: 0, value: Tensor::new() }
    }

    /// Elements of one row.
    pub fn width(&self) -> usize {
        self.value.dims().iter().skip(1).product()
    }

    /// The sizes of the whole matrix.
    pub fn whole_dims(&self) -> Dims {
        self.value.dims().with_rows(self.height.max(0) as usize)
    }

    /// Adds the rows of others, which are rows of the same matrix. Panics if they have another width or type.
    pub fn append(&mut self, others: &[&SelectedRows]) {
        let rows = self.rows.len() + others.iter().map(|o| o.rows.len()).sum::<usize>();
        let mut whole = Tensor::new();
        whole.resize(self.value.dtype(), self.value.dims().with_rows(rows));
        let mut rest = whole.bytes_mut();
        for part in std::iter::once(&self.value).chain(others.iter().map(|o| &o.value)) {
            let (mine, more) = rest.split_at_mut(part.bytes().len());
            mine.copy_from_slice(part.bytes());
            rest = more;
        }
        assert!(rest.is_empty(), "rows of different matrices");
        self.value = whole;
        others.iter().for_each(|o| self.rows.extend_from_slice(&o.rows));
    }

    /// Becomes a copy of `other`, reusing memory.
    pub fn copy_from(&mut self, other: &SelectedRows) {
        self.rows.clear();
        self.rows.extend_from_slice(&other.rows);
        self.height = other.height;
        self.value.copy_from(&other.value);
    }
}

impl Default for SelectedRows {
    fn default() -> SelectedRows {
        SelectedRows::new()
    }
}

#[test]
fn rows_are_appended() {
    let of = |rows: &[i64], values: &[f32]| SelectedRows {
        rows: rows.to_vec(),
        height: 9,
        value: Tensor::from_slice([rows.len(), 2], values).unwrap(),
    };
    let mut all = of(&[3], &[1.0, 2.0]);
    all.append(&[&of(&[], &[]), &of(&[3, 5], &[3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(all, of(&[3, 3, 5], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
}
