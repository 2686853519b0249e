//! Windows that slide over images: formats, padding and output sizes, for convolutions and pooling.

use oarlock_ir::{AttrView, Kind, Result, fail};
use oarlock_tensor::{Dims, Float};

/// The order of an image tensor's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Batch, channels, height, width.
    Nchw,
    /// Batch, height, width, channels.
    Nhwc,
}

impl Format {
    /// That of an attribute.
    pub(crate) fn new(attrs: &AttrView<'_>, name: &str) -> Result<Format> {
        match attrs.str(name)? {
            "NHWC" => Ok(Format::Nhwc),
            "NCHW" | "AnyLayout" => Ok(Format::Nchw),
            other => fail!(Kind::Argument, "attribute `{name}` is `{other}`; it can be `NCHW` or `NHWC`"),
        }
    }

    /// Channels, height and width.
    pub(crate) fn split<D: Copy>(self, dims: &[D]) -> Option<(D, D, D)> {
        match (self, dims) {
            (Format::Nchw, [_, c, h, w]) | (Format::Nhwc, [_, h, w, c]) => Some((*c, *h, *w)),
            _ => None,
        }
    }

    /// The shape of an image tensor.
    pub(crate) fn join<D>(self, n: D, c: D, h: D, w: D) -> [D; 4] {
        match self {
            Format::Nchw => [n, c, h, w],
            Format::Nhwc => [n, h, w, c],
        }
    }

    /// The elements in the order NCHW; `scratch` holds them if they must be moved.
    pub(crate) fn to_nchw<'a, T: Float>(self, dims: &Dims, x: &'a [T], scratch: &'a mut Vec<T>) -> &'a [T] {
        if self == Format::Nchw {
            return x;
        }
        scratch.resize(x.len(), T::ZERO);
        let (images, channels) = (dims[0], dims[3]);
        turn(x, scratch, images, dims[1] * dims[2], channels);
        scratch
    }

    /// Lets `fill` write `out` in the order NCHW and puts the elements in this order; `scratch` holds them meanwhile.
    pub(crate) fn fill_nchw<T: Float>(
        self,
        dims: &Dims,
        out: &mut [T],
        scratch: &mut Vec<T>,
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<()> {
        if self == Format::Nchw {
            return fill(out);
        }
        scratch.resize(out.len(), T::ZERO);
        fill(scratch)?;
        turn(scratch, out, dims[0], dims[3], dims[1] * dims[2]);
        Ok(())
    }
}

/// Transposes each of `images` matrices of `rows` rows.
fn turn<T: Float>(from: &[T], to: &mut [T], images: usize, rows: usize, cols: usize) {
    let size = rows * cols;
    for i in 0..images {
        let (from, to) = (&from[i * size..][..size], &mut to[i * size..][..size]);
        for r in 0..rows {
            for c in 0..cols {
                to[c * rows + r] = from[r * cols + c];
            }
        }
    }
}

/// How images are extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    /// By these sizes: top, bottom, left, right.
    Explicit([usize; 4]),
    /// So that the output is as large as the input, divided by the stride.
    Same,
    /// Not at all.
    Valid,
}

impl Padding {
    /// That of attributes `padding_algorithm` and `paddings`.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Padding> {
        match attrs.str("padding_algorithm")? {
            "SAME" => return Ok(Padding::Same),
            "VALID" => return Ok(Padding::Valid),
            "EXPLICIT" => {}
            other => fail!(
                Kind::Argument,
                "attribute `padding_algorithm` is `{other}`; it can be `EXPLICIT`, `SAME` or `VALID`"
            ),
        }
        match sizes(attrs, "paddings")?[..] {
            [y, x] => Ok(Padding::Explicit([y, y, x, x])),
            [top, bottom, left, right] => Ok(Padding::Explicit([top, bottom, left, right])),
            ref other => fail!(Kind::Argument, "attribute `paddings` has {} sizes; it can have 2 or 4", other.len()),
        }
    }

    /// Before and after an axis of `n` elements (0: vertical, 1: horizontal).
    pub(crate) fn around(self, axis: usize, n: usize, kernel: usize, stride: usize) -> (usize, usize) {
        match self {
            Padding::Explicit(p) => (p[2 * axis], p[2 * axis + 1]),
            Padding::Valid => (0, 0),
            Padding::Same => {
                let total = ((n.div_ceil(stride)).saturating_sub(1) * stride + kernel).saturating_sub(n);
                (total / 2, total - total / 2)
            }
        }
    }
}

/// A list of sizes, none negative.
pub(crate) fn sizes(attrs: &AttrView<'_>, name: &str) -> Result<Vec<usize>> {
    let values = attrs.ints(name)?;
    let sizes: Option<Vec<usize>> = values.iter().map(|&v| usize::try_from(v).ok()).collect();
    match sizes {
        Some(s) => Ok(s),
        None => fail!(Kind::Argument, "attribute `{name}` is {values:?}, but sizes cannot be negative"),
    }
}

/// Two sizes, vertical and horizontal, none of them 0.
pub(crate) fn pair(attrs: &AttrView<'_>, name: &str) -> Result<[usize; 2]> {
    match sizes(attrs, name)?[..] {
        [y, x] if y > 0 && x > 0 => Ok([y, x]),
        ref other => fail!(Kind::Argument, "attribute `{name}` is {other:?}; it needs two sizes above 0"),
    }
}
