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
