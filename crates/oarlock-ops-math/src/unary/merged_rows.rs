//! Rows of row-sparse gradients, merged: shared by the operators that limit gradients.

use std::cell::RefMut;

use oarlock_ir::{In, Io, Out, Result};
use oarlock_tensor::{Float, Value};

use oarlock_tensor::merge::RowMerger;

/// Makes `out` the selected rows `x` with each row once: limits apply to the sum of repeated rows.
pub(crate) fn merged_rows<'a, T: Float>(
    io: &Io<'a>,
    x: In,
    out: Out,
    merger: &mut RowMerger<T>,
) -> Result<RefMut<'a, Value>> {
    let mut value = io.write(out)?;
    if !out.is(x) {
        value.rows_mut().copy_from(&*io.rows(x)?);
    }
    let of_x = |e| io.about(x.0, e);
    let to = value.rows_mut();
    let width = to.width();
    let (rows, sums) = merger.merge(&to.rows, to.value.data::<T>().map_err(of_x)?, width);
    if rows.len() < to.rows.len() || rows != to.rows {
        let (rows, sums) = (rows.to_vec(), sums.to_vec());
        to.value.resize(T::DTYPE, to.value.dims().with_rows(rows.len()));
        to.value.data_mut::<T>().map_err(of_x)?.copy_from_slice(&sums);
        to.rows = rows;
    }
    Ok(value)
}
