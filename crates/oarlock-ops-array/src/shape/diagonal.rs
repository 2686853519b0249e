//! Where the diagonal of a tensor lies; shared by `diag`, `diag_embed` and `trace`.

use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::{Dims, MAX_RANK};

/// The two axes of a diagonal, as attributes give them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    /// The axis that counts rows; negative ones count from the end.
    pub(crate) dim1: i64,
    /// The axis that counts columns.
    pub(crate) dim2: i64,
    /// How far above the main diagonal; below if negative.
    pub(crate) offset: i64,
}

impl Plane {
    /// The axes of a tensor of that rank; `None` if it does not have them, or if they are one.
    pub(crate) fn axes(&self, rank: usize) -> Option<(usize, usize)> {
        let (a, b) = (axis_of(self.dim1, rank)?, axis_of(self.dim2, rank)?);
        (a != b).then_some((a, b))
    }

    /// Where the diagonals of a tensor lie; `None` if it does not have the axes.
    pub(crate) fn of(&self, dims: &Dims) -> Option<Diagonals> {
        let (row, column) = self.axes(dims.rank())?;
        let mut strides = [1; MAX_RANK];
        for axis in (0..dims.rank().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * dims[axis + 1];
        }
        let below = usize::try_from(self.offset.min(0).unsigned_abs()).ok()?;
        let above = usize::try_from(self.offset.max(0)).ok()?;
        let len = dims[row].saturating_sub(below).min(dims[column].saturating_sub(above));
        let mut rest = Dims::new(&[]);
        let mut rest_strides = [0; MAX_RANK];
        for axis in (0..dims.rank()).filter(|a| *a != row && *a != column) {
            rest_strides[rest.rank()] = strides[axis];
            rest.push(dims[axis]);
        }
        // A diagonal beyond the matrix has no element, and so no start.
        let start = if len == 0 { 0 } else { below * strides[row] + above * strides[column] };
        Some(Diagonals { rest, rest_strides, start, step: strides[row] + strides[column], len })
    }
}

/// The diagonals of a tensor, one for each place along the other axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Diagonals {
    /// The sizes of the other axes.
    pub(crate) rest: Dims,
    rest_strides: [usize; MAX_RANK],
    start: usize,
    step: usize,
    /// The elements of one diagonal.
    pub(crate) len: usize,
}

impl Diagonals {
    /// Calls `f` with the number of each diagonal and the positions of its elements.
    pub(crate) fn each(&self, mut f: impl FnMut(usize, &mut dyn Iterator<Item = usize>)) {
        for n in 0..self.rest.numel() {
            let (mut left, mut at) = (n, self.start);
            for axis in (0..self.rest.rank()).rev() {
                at += left % self.rest[axis] * self.rest_strides[axis];
                left /= self.rest[axis];
            }
            f(n, &mut (0..self.len).map(|i| at + i * self.step));
        }
    }
}
