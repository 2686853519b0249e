//! Row-sparse tensors as operators see them: checking one, choosing some of its rows.
//!
//! It knows no single operator; which rows a table has is the caller's business.

use oarlock_ir::{In, Io, Kind, Result};
use oarlock_tensor::SelectedRows;

/// Does the tensor hold as many rows of values as it lists?
pub(crate) fn check(io: &Io<'_>, input: In, rows: &SelectedRows) -> Result<()> {
    if rows.value.rows() == rows.rows.len() {
        return Ok(());
    }
    let what = format!("lists {} rows, but holds {}", rows.rows.len(), rows.value.dims());
    Err(io.error(Kind::Shape, input, what))
}

/// Copies the rows that are `wanted` under the name that `rename` gives them, in their order. The height stays.
pub(crate) fn select(
    from: &SelectedRows,
    to: &mut SelectedRows,
    wanted: impl Fn(&i64) -> bool,
    rename: impl Fn(i64) -> i64,
) {
    to.height = from.height;
    to.rows.clear();
    to.rows.extend(from.rows.iter().copied().filter(&wanted).map(rename));
    to.value.resize(from.value.dtype(), from.value.dims().with_rows(to.rows.len()));
    let bytes = from.width() * from.value.dtype().size();
    let pieces = from.rows.iter().zip(from.value.bytes().chunks_exact(bytes.max(1)));
    let chosen = pieces.filter(|(row, _)| wanted(row));
    for (to, (_, piece)) in to.value.bytes_mut().chunks_exact_mut(bytes.max(1)).zip(chosen) {
        to.copy_from_slice(piece);
    }
}
