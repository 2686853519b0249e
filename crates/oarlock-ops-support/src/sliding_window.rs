//! Windows that slide over images and volumes: formats, padding and sizes, for convolutions and pooling.
//!
//! Images are volumes of depth 1, so that kernels need to know one case only.

use std::ops::Range;

use oarlock_ir::{AttrView, Dim, Kind, Result, fail};
use oarlock_tensor::{Dims, Float};

/// The axes along which windows slide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// Height and width.
    Image,
    /// Depth, height and width.
    Volume,
}

impl Axes {
    /// How many there are.
    pub const fn count(self) -> usize {
        match self {
            Axes::Image => 2,
            Axes::Volume => 3,
        }
    }

    /// How many sizes a batch has.
    pub const fn rank(self) -> usize {
        self.count() + 2
    }

    /// A number for each axis, as attributes give it; an image gets `neutral` for its depth.
    fn fill<T: Copy>(self, values: &[T], neutral: T) -> Option<[T; 3]> {
        match (self, values) {
            (Axes::Image, [y, x]) => Some([neutral, *y, *x]),
            (Axes::Volume, [z, y, x]) => Some([*z, *y, *x]),
            _ => None,
        }
    }

    /// A size above 0 for each axis.
    pub fn positive(self, attrs: &AttrView<'_>, name: &str) -> Result<[usize; 3]> {
        let values = sizes(attrs, name)?;
        match self.fill(&values, 1).filter(|_| values.iter().all(|&v| v > 0)) {
            Some(sizes) => Ok(sizes),
            None => {
                let count = self.count();
                fail!(Kind::Argument, "attribute `{name}` is {values:?}; it needs {count} sizes above 0")
            }
        }
    }

    /// The numbers that are not there for uniformity only.
    pub fn shown<T>(self, values: &[T; 3]) -> &[T] {
        &values[3 - self.count()..]
    }
}

/// The order of the dimensions of a batch of images or volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `NCHW` or `NCDHW`.
    ChannelsFirst,
    /// `NHWC` or `NDHWC`.
    ChannelsLast,
}

impl Format {
    /// That of an attribute.
    pub fn new(attrs: &AttrView<'_>, name: &str) -> Result<Format> {
        match attrs.str(name)? {
            "NHWC" | "NDHWC" => Ok(Format::ChannelsLast),
            // Fluid's layer writes NCHW for some volumes, too.
            "NCHW" | "NCDHW" | "AnyLayout" => Ok(Format::ChannelsFirst),
            other => {
                fail!(Kind::Argument, "attribute `{name}` is `{other}`; it can be NCHW, NHWC, NCDHW or NDHWC")
            }
        }
    }

    /// Channels, and depth, height and width, of a declared shape.
    pub fn split_shape(self, axes: Axes, shape: &[Dim]) -> Option<(Dim, [Dim; 3])> {
        self.split(axes, shape, Dim::Is(1))
    }

    /// Channels, and depth, height and width, of a batch.
    pub fn split_dims(self, axes: Axes, dims: &Dims) -> Option<(usize, [usize; 3])> {
        self.split(axes, dims, 1)
    }

    fn split<D: Copy>(self, axes: Axes, sizes: &[D], one: D) -> Option<(D, [D; 3])> {
        let [_, rest @ ..] = sizes else { return None };
        let (channels, spatial) = match self {
            Format::ChannelsFirst => rest.split_first()?,
            Format::ChannelsLast => rest.split_last()?,
        };
        Some((*channels, axes.fill(spatial, one)?))
    }

    /// The sizes of a batch of `n`.
    pub fn join<D: Copy>(self, axes: Axes, n: D, c: D, spatial: [D; 3]) -> impl Iterator<Item = D> {
        let [z, y, x] = spatial;
        let (sizes, depth) = match self {
            Format::ChannelsFirst => ([n, c, z, y, x], 2),
            Format::ChannelsLast => ([n, z, y, x, c], 1),
        };
        sizes.into_iter().enumerate().filter(move |(i, _)| *i != depth || axes == Axes::Volume).map(|(_, size)| size)
    }

    /// The sizes of a batch of `n`, as a tensor has them.
    pub fn dims(self, axes: Axes, n: usize, c: usize, spatial: [usize; 3]) -> Dims {
        let mut dims = Dims::new(&[]);
        self.join(axes, n, c, spatial).for_each(|size| dims.push(size));
        dims
    }

    /// The elements with channels first; `scratch` holds them if they must be moved.
    pub fn channels_first<'a, T: Float>(self, dims: &Dims, x: &'a [T], scratch: &'a mut Vec<T>) -> &'a [T] {
        let (Format::ChannelsLast, [images, spatial @ .., channels]) = (self, &dims[..]) else { return x };
        scratch.resize(x.len(), T::ZERO);
        turn(x, scratch, *images, spatial.iter().product(), *channels);
        scratch
    }

    /// Lets `fill` write `out` with channels first and puts the elements in this order; `scratch` holds them meanwhile.
    pub fn fill_channels_first<T: Float>(
        self,
        dims: &Dims,
        out: &mut [T],
        scratch: &mut Vec<T>,
        fill: impl FnOnce(&mut [T]),
    ) {
        let (Format::ChannelsLast, [images, spatial @ .., channels]) = (self, &dims[..]) else { return fill(out) };
        scratch.resize(out.len(), T::ZERO);
        fill(scratch);
        turn(scratch, out, *images, *channels, spatial.iter().product());
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
pub enum Padding {
    /// By these sizes before and after each axis.
    Explicit([(usize, usize); 3]),
    /// So that the output is as large as the input, divided by the stride.
    Same,
    /// Not at all.
    Valid,
}

impl Padding {
    /// That of attributes `padding_algorithm` and `paddings`.
    pub fn new(attrs: &AttrView<'_>, axes: Axes) -> Result<Padding> {
        match attrs.str("padding_algorithm")? {
            "SAME" => Ok(Padding::Same),
            "VALID" => Ok(Padding::Valid),
            "EXPLICIT" => Padding::explicit(attrs, axes),
            other => fail!(
                Kind::Argument,
                "attribute `padding_algorithm` is `{other}`; it can be `EXPLICIT`, `SAME` or `VALID`"
            ),
        }
    }

    /// That of attribute `paddings`: a size for each axis, or one for each side of each axis.
    pub fn explicit(attrs: &AttrView<'_>, axes: Axes) -> Result<Padding> {
        let values = sizes(attrs, "paddings")?;
        let mut sides: Vec<(usize, usize)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        if values.len() == axes.count() {
            sides = values.iter().map(|&v| (v, v)).collect();
        }
        match axes.fill(&sides, (0, 0)).filter(|_| values.len() % axes.count() == 0) {
            Some(sides) => Ok(Padding::Explicit(sides)),
            None => {
                let (found, count) = (values.len(), axes.count());
                fail!(Kind::Argument, "attribute `paddings` has {found} sizes; it can have {count} or {}", 2 * count)
            }
        }
    }

    /// Before and after an axis of `n` elements (0: depth, 1: height, 2: width).
    pub fn around(self, axis: usize, n: usize, kernel: usize, stride: usize) -> (usize, usize) {
        match self {
            Padding::Explicit(p) => p[axis],
            Padding::Valid => (0, 0),
            Padding::Same => {
                let total = ((n.div_ceil(stride)).saturating_sub(1) * stride + kernel).saturating_sub(n);
                (total / 2, total - total / 2)
            }
        }
    }
}

/// A list of sizes, none negative.
pub fn sizes(attrs: &AttrView<'_>, name: &str) -> Result<Vec<usize>> {
    let values = attrs.ints(name)?;
    let sizes: Option<Vec<usize>> = values.iter().map(|&v| usize::try_from(v).ok()).collect();
    match sizes {
        Some(s) => Ok(s),
        None => fail!(Kind::Argument, "attribute `{name}` is {values:?}, but sizes cannot be negative"),
    }
}

/// The output positions along a line of `n` elements, of `out` in all, whose window has an element of the line `reach` behind
/// its start; and which element that is for the first of them. Windows start `before` elements ahead of the line.
pub fn met(n: usize, before: usize, stride: usize, reach: usize, out: usize) -> (Range<usize>, usize) {
    let first = before.saturating_sub(reach).div_ceil(stride);
    let end = (n + before).saturating_sub(reach).div_ceil(stride).min(out);
    (first.min(end)..end, (first * stride + reach).saturating_sub(before))
}

#[test]
fn windows_meet_what_they_cover() {
    for (n, before, stride, reach, out) in
        [(5, 0, 1, 0, 5), (5, 2, 1, 0, 5), (5, 2, 2, 3, 4), (2, 3, 3, 1, 3), (4, 9, 2, 0, 3)]
    {
        let (range, start) = met(n, before, stride, reach, out);
        let inside = |o: usize| (o * stride + reach).checked_sub(before).filter(|&i| i < n);
        let expected: Vec<usize> = (0..out).filter(|&o| inside(o).is_some()).collect();
        assert_eq!(range.clone().collect::<Vec<_>>(), expected);
        assert!(range.is_empty() || inside(range.start) == Some(start));
    }
}
