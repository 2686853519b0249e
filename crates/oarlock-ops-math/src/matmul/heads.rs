//! Products of matrices in heads: parts of the columns of X with parts of Y, side by side. Fused attention programs have them.

use oarlock_ir::{Dim, Io, Kind, Out, Result};
use oarlock_tensor::{Dims, Float};

/// Sizes of a product in heads; matrices as they are after transposing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) count: usize,
    /// Rows and columns of X.
    pub(super) x: (usize, usize),
    /// Rows and columns of Y.
    pub(super) y: (usize, usize),
}

impl Heads {
    /// Whether parts of Y are rows, as where X and Y fit as they are; else they are columns.
    fn by_rows(&self) -> bool {
        self.x.1 == self.y.0
    }

    /// The columns of the result.
    pub(super) fn columns(&self) -> usize {
        if self.by_rows() { self.y.1 * self.count } else { self.y.1 }
    }

    /// Whether the heads divide what they have to.
    pub(super) fn fits(&self) -> bool {
        let even = self.count > 0 && self.x.1.is_multiple_of(self.count);
        let by_columns = || self.x.1 == self.y.0 * self.count && self.y.1.is_multiple_of(self.count);
        even && (self.by_rows() || by_columns())
    }

    /// The sizes if all are known.
    pub(super) fn known(count: usize, x: (Dim, Dim), y: (Dim, Dim)) -> Option<Heads> {
        let both = |(rows, columns): (Dim, Dim)| Some((rows.known()?, columns.known()?));
        Some(Heads { count, x: both(x)?, y: both(y)? })
    }

    /// `to` = alpha X Y, head by head; `x(row, column)` and `y(row, column)` read the matrices.
    pub(super) fn multiply<T: Float>(
        &self,
        to: &mut [T],
        alpha: T,
        x: impl Fn(usize, usize) -> T,
        y: impl Fn(usize, usize) -> T,
    ) {
        let (inner, columns) = (self.x.1 / self.count, self.columns());
        let width = columns / self.count;
        for (row, to) in to.chunks_exact_mut(columns.max(1)).enumerate() {
            for (column, to) in to.iter_mut().enumerate() {
                let (head, at) = (column / width, column % width);
                let mut sum = T::ZERO;
                for k in 0..inner {
                    let of_y = if self.by_rows() { y(head * inner + k, at) } else { y(k, column) };
                    sum += x(row, head * inner + k) * of_y;
                }
                *to = alpha * sum;
            }
        }
    }
}

/// The result of a batch, sized.
pub(super) fn dims(io: &Io<'_>, out: Out, batch: &[usize], heads: &Heads) -> Result<Dims> {
    let mut sizes = batch.to_vec();
    sizes.extend([heads.x.0, heads.columns()]);
    Dims::try_new(&sizes).map_err(|e| io.about(out.0, e))
}

/// The text of heads that do not fit.
pub(super) fn misfit(heads: &Heads) -> (Kind, String) {
    let Heads { count, x, y } = heads;
    (Kind::Shape, format!("{count} heads do not fit matrices of {} x {} and {} x {}", x.0, x.1, y.0, y.1))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor};

    #[test]
    fn columns_of_x_meet_rows_of_y() {
        check("matmul")
            .input("X", tensor([1, 4], &[1.0, 2.0, 3.0, 4.0]))
            .input("Y", tensor([4, 1], &[1.0, 10.0, 100.0, 1000.0]))
            .attr("head_number", 2)
            .output("Out", tensor([1, 2], &[21.0, 4300.0]))
            .run();
    }

    #[test]
    fn columns_of_x_meet_columns_of_y() {
        check("matmul")
            .input("X", tensor([1, 4], &[1.0, 2.0, 3.0, 4.0]))
            .input("Y", tensor([2, 2], &[1.0, 10.0, 100.0, 1000.0]))
            .attr("head_number", 2)
            .attr("alpha", 2.0f32)
            .output("Out", tensor([1, 2], &[402.0, 8060.0]))
            .run();
    }
}
