//! Sequences of rows, given by a LoD or padded to one length: tagging, alignment and their metrics take both.

use std::ops::Range;

use oarlock_ir::{In, Io, Kind, Result};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Tensor;

/// An input whose sequences its LoD tells; or, where another input holds their lengths, one of shape `[batch, steps, ...]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segments {
    pub(crate) input: In,
    pub(crate) length: Option<In>,
}

impl Segments {
    /// The rows of each sequence; those of a padded tensor count batch by batch.
    pub(crate) fn find(&self, io: &Io<'_>, t: &Tensor, rows: &mut Vec<Range<usize>>) -> Result<()> {
        rows.clear();
        let Some(length) = self.length else {
            rows.extend(lod_rows::offsets(io, self.input, t)?.windows(2).map(|w| w[0]..w[1]));
            return Ok(());
        };
        let &[batch, steps, ..] = &t.dims()[..] else {
            let what = format!("is {}, but sequences with lengths are [batch, steps, ...]", t.dims());
            return Err(io.error(Kind::Shape, self.input, what));
        };
        each_length(io, length, batch, steps, |i, n| rows.push(i * steps..i * steps + n))
    }
}

/// Calls `f` with the index and the length of each of `batch` sequences, for which there are `room` steps.
pub(crate) fn each_length(
    io: &Io<'_>,
    length: In,
    batch: usize,
    room: usize,
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    let lengths = io.dense(length)?;
    let lengths = Ints::of(io, length, &lengths)?;
    if lengths.len() != batch {
        let what = format!("holds {} lengths for {batch} sequences", lengths.len());
        return Err(io.error(Kind::Shape, length, what));
    }
    for i in 0..batch {
        let n = lengths.count(io, length, i)?;
        if n > room {
            let what = format!("says that sequence {i} has {n} steps, but there is room for {room}");
            return Err(io.error(Kind::Range, length, what));
        }
        f(i, n);
    }
    Ok(())
}

/// Two inputs must have as many sequences as each other; returns how many.
pub(crate) fn same_number(io: &Io<'_>, a: (In, &[Range<usize>]), b: (In, &[Range<usize>])) -> Result<usize> {
    if a.1.len() == b.1.len() {
        return Ok(a.1.len());
    }
    let what = format!("has {} sequences, but {} has {}", b.1.len(), io.describe(a.0), a.1.len());
    Err(io.error(Kind::Lod, b.0, what))
}
