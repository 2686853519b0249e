//! The sum of each sequence of several inputs, side by side; shared by `fusion_seqpool_concat` and its cousin with counts.

use oarlock_ir::{AttrView, Dim, Error, In, Infer, Io, Kind, Out, Result, VarType, fail};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Dims, Float, simd};

/// The divisor of the sum over a sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Divisor {
    One,
    Length,
    RootOfLength,
}

impl Divisor {
    /// That of the attribute `pooltype`.
    pub(crate) fn read(attrs: &AttrView<'_>) -> Result<Divisor> {
        match attrs.str("pooltype")? {
            "SUM" => Ok(Divisor::One),
            "AVERAGE" => Ok(Divisor::Length),
            "SQRT" => Ok(Divisor::RootOfLength),
            other => fail!(Kind::Argument, "attribute `pooltype` is `{other}`; it can be SUM, AVERAGE or SQRT"),
        }
    }

    fn scale<T: Float>(self, length: usize) -> T {
        match self {
            Divisor::One => T::ONE,
            Divisor::Length => T::ONE / T::of(length as f64),
            Divisor::RootOfLength => T::ONE / T::of(length as f64).sqrt(),
        }
    }
}

/// Only along the columns.
pub(crate) fn check_axis(attrs: &AttrView<'_>) -> Result<()> {
    match attrs.int("axis")? {
        1 => Ok(()),
        axis => fail!(Kind::Unsupported, "pooled sequences can be joined along axis 1 only, not {axis}"),
    }
}

/// Inference: a row per sequence, all columns side by side, of which `skipped` of each input are left out.
pub(crate) fn infer(cx: &mut Infer<'_>, skipped: usize) -> Result<()> {
    Divisor::read(&cx.attrs())?;
    check_axis(&cx.attrs())?;
    let xs = cx.inputs("X")?;
    let mut columns = Some(0);
    for x in &xs {
        let [_, width] = x.shape[..] else {
            return Err(cx.shape_error(format!("needs matrices with LoD in `X`, but one is {x}")));
        };
        if width.known().is_some_and(|n| n < skipped) {
            return Err(cx.shape_error(format!("needs {skipped} counts in every row of `X`, but one is {x}")));
        }
        columns = columns.zip(width.known()).map(|(sum, n)| sum + n - skipped);
    }
    let dtype = cx.float("X")?.dtype;
    cx.set("Out", VarType::tensor(dtype, vec![Dim::Any, columns.map_or(Dim::Any, Dim::Is)]).with_lod(1));
    Ok(())
}

/// Writes `out`: for each sequence, the pooled rows of all inputs side by side. `finish` gets each of them, without its
/// first `skipped` columns.
pub(crate) fn pool<T: Float>(
    io: &Io<'_>,
    xs: &[In],
    out: Out,
    how: Divisor,
    skipped: usize,
    sums: &mut Vec<T>,
    finish: impl Fn(&mut [T]),
) -> Result<()> {
    let (mut columns, mut sequences) = (0, None);
    for &x in xs {
        let t = io.dense(x)?;
        let (width, count) = (t.dims().matrix(1).1, lod_rows::offsets(io, x, &t)?.len() - 1);
        if width < skipped {
            return Err(io.error(
                Kind::Shape,
                x,
                format_args!("is {}, but needs {skipped} counts in every row", t.dims()),
            ));
        }
        if *sequences.get_or_insert(count) != count {
            return Err(other_count(io, x, count, xs[0], sequences.unwrap_or(0)));
        }
        columns += width - skipped;
    }
    let sequences = sequences.unwrap_or(0);
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([sequences, columns]))?;
    to.set_lod(lod_rows::lod_of(&oarlock_tensor::Lod::NONE, std::iter::repeat_n(1, sequences)));
    let to = io.data_mut::<T>(out, &mut to)?;
    let mut at = 0;
    for &x in xs {
        let t = io.dense(x)?;
        let (data, width) = (io.data::<T>(x, &t)?, t.dims().matrix(1).1);
        sums.resize(width, T::ZERO);
        for (s, w) in lod_rows::offsets(io, x, &t)?.windows(2).enumerate() {
            simd::column_sums(sums, &data[w[0] * width..w[1] * width]);
            if w[1] > w[0] {
                simd::scale(sums, how.scale(w[1] - w[0]));
            }
            let to = &mut to[s * columns + at..][..width - skipped];
            to.copy_from_slice(&sums[skipped..]);
            finish(to);
        }
        at += width - skipped;
    }
    Ok(())
}

#[cold]
fn other_count(io: &Io<'_>, x: In, count: usize, first: In, expected: usize) -> Error {
    let what = format_args!("has {count} sequences, but {} has {expected}", io.describe(first));
    io.error(Kind::Lod, x, what)
}
