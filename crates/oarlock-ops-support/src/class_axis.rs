//! Scores of classes along one axis and the labels that go with them: what softmax and the cross entropies share.

use std::borrow::Cow;

use oarlock_ir::{Dim, In, Infer, Io, Kind, Result, Shape, VarType, fail};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{DType, Dims, Float, Tensor};

/// An axis counted from either end.
pub fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_start).ok().filter(|&a| a < rank)
}

/// The axis of attribute `axis` for a variable of `slot`, when the program is built.
pub fn infer_axis(cx: &Infer<'_>, slot: &str) -> Result<usize> {
    let (axis, rank) = (cx.attrs().int("axis")?, cx.input(slot)?.shape.rank());
    axis_of(axis, rank)
        .ok_or_else(|| cx.shape_error(format_args!("has axis {axis}, which {} does not have", cx.describe(slot))))
}

/// A tensor seen as `[outer, len, inner]`, with the classes in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    /// The product of the sizes before the axis.
    pub outer: usize,
    /// The number of classes.
    pub len: usize,
    /// The product of the sizes after the axis.
    pub inner: usize,
}

impl Classes {
    /// Of a tensor.
    pub fn of(io: &Io<'_>, x: In, dims: &Dims, axis: i64) -> Result<Classes> {
        match axis_of(axis, dims.rank()) {
            Some(a) => {
                Ok(Classes { outer: dims[..a].iter().product(), len: dims[a], inner: dims[a + 1..].iter().product() })
            }
            None => Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}, but no axis {axis}"))),
        }
    }

    /// How many scores are compared with each other: one row per sample.
    pub fn rows(&self) -> usize {
        self.outer * self.inner
    }

    /// Where class `class` of row `row` is. Rows count in the order of the loss.
    pub fn at(&self, row: usize, class: usize) -> usize {
        let (outer, inner) = (row / self.inner, row % self.inner);
        (outer * self.len + class) * self.inner + inner
    }

    /// Where the classes of a row are, in order.
    pub fn row(&self, row: usize) -> impl Iterator<Item = usize> + use<> {
        (self.at(row, 0)..).step_by(self.inner).take(self.len)
    }

    /// Softmax of every row, in place; `scratch` holds one row.
    pub fn softmax<T: Math>(&self, x: &mut [T], scratch: &mut Vec<T>) {
        if self.inner == 1 {
            return simd::softmax_rows_assign(x, self.len);
        }
        scratch.resize(self.len, T::ZERO);
        for row in 0..self.rows() {
            self.row(row).zip(&mut *scratch).for_each(|(i, s)| *s = x[i]);
            simd::softmax_rows_assign(scratch, self.len);
            self.row(row).zip(&*scratch).for_each(|(i, s)| x[i] = *s);
        }
    }
}

/// The logarithm of a probability, at least -1e20: a probability of 0 costs much, but not infinitely much.
pub fn bounded_ln<T: Float>(p: T) -> T {
    let ln = p.ln();
    if ln == -T::INFINITY { T::of(-1e20) } else { ln }
}

/// The type of the loss of scores `x` and labels `label`: the scores' with one class.
pub fn infer_loss(cx: &Infer<'_>, x: &str, label: &str, axis: usize, soft: bool) -> Result<VarType> {
    let (scores, labels) = (cx.input(x)?, cx.input(label)?);
    let mut shape = scores.shape.clone();
    let expected = if soft { scores.shape[axis] } else { Dim::Is(1) };
    let fits = |at: usize, d: &Dim| d.fits(if at == axis { expected } else { scores.shape[at] });
    let same_rank = labels.shape.rank() == shape.rank() && labels.shape.iter().enumerate().all(|(i, d)| fits(i, d));
    // Class numbers may also come without the axis of size 1, if that is the last one.
    let short = !soft
        && axis + 1 == shape.rank()
        && labels.shape.rank() == axis
        && labels.shape.iter().enumerate().all(|(i, d)| fits(i, d));
    if !same_rank && !short {
        shape.0[axis] = expected;
        return Err(cx
            .shape_error(format_args!("cannot compare {} with {}", cx.describe(x), cx.describe(label)))
            .help(format!("labels of these scores have shape {shape}")));
    }
    if soft && labels.dtype != scores.dtype || !soft && !matches!(labels.dtype, DType::I32 | DType::I64) {
        let want = if soft { scores.dtype.short() } else { "i64" };
        fail!(Kind::DType, "labels must be {want}, but {} is {}", cx.describe(label), labels.dtype);
    }
    shape.0[axis] = Dim::Is(1);
    if short {
        shape.0.pop();
    }
    Ok(scores.with_shape(shape))
}

/// Sizes of the loss for scores of these sizes: those of the labels, with one class.
pub fn loss_dims(label: &Tensor, axis: i64, rank: usize) -> Dims {
    let mut dims = *label.dims();
    if let (Some(a), true) = (axis_of(axis, rank), dims.rank() == rank) {
        dims[a] = 1;
    }
    dims
}

/// Class numbers of every row, checked: `None` for rows to ignore.
pub struct Labels<'a> {
    labels: Cow<'a, [i64]>,
    classes: usize,
    ignore: i64,
}

impl<'a> Labels<'a> {
    /// The labels of `rows` rows of scores of `classes` classes.
    pub fn new(
        io: &Io<'_>,
        input: In,
        tensor: &'a Tensor,
        rows: usize,
        classes: usize,
        ignore: i64,
    ) -> Result<Labels<'a>> {
        let labels: Cow<'a, [i64]> = match tensor.dtype() {
            DType::I32 => io.data::<i32>(input, tensor)?.iter().map(|&l| l.into()).collect(),
            _ => Cow::Borrowed(io.data::<i64>(input, tensor)?),
        };
        if labels.len() != rows {
            let what = format_args!("has {} labels for {rows} rows of scores", labels.len());
            return Err(io.error(Kind::Shape, input, what));
        }
        let wrong = |l: i64| l != ignore && !(0..classes as i64).contains(&l);
        if let Some(row) = labels.iter().position(|&l| wrong(l)) {
            let what = format_args!("has label {} in row {row}, but there are {classes} classes", labels[row]);
            return Err(io.error(Kind::Range, input, what));
        }
        Ok(Labels { labels, classes, ignore })
    }

    /// Each row's class, even of rows to ignore; `None` where that label is no class.
    pub fn even_ignored(&self) -> impl Iterator<Item = Option<usize>> {
        self.labels.iter().map(|&l| usize::try_from(l).ok().filter(|&l| l < self.classes))
    }

    /// Each row's class; `None` for rows to ignore.
    pub fn iter(&self) -> impl Iterator<Item = Option<usize>> {
        self.labels.iter().map(|&l| (l != self.ignore).then_some(l as usize))
    }
}

/// Checks that soft labels are as many as scores.
pub fn same_count(io: &Io<'_>, x: In, label: In, scores: usize, labels: usize) -> Result<()> {
    if scores == labels {
        return Ok(());
    }
    Err(io.error(Kind::Shape, label, format_args!("has {labels} elements, but {} has {scores}", io.describe(x))))
}

/// The shape of `XShape`: remembers the sizes of `X` behind a leading 0.
pub fn infer_x_shape(x: &VarType) -> VarType {
    let mut dims = vec![Dim::Is(0)];
    dims.extend_from_slice(&x.shape);
    x.clone().with_shape(Shape(dims))
}
