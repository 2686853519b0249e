//! The predictions of YOLO: for each anchor of each cell a place, a size, an objectness and a score per class.

use oarlock_ir::{AttrView, Dim, Infer, Kind, Result, fail};
use oarlock_tensor::Float;

use crate::sizes;

/// Values of a prediction before those of the classes: x, y, width, height, objectness.
pub(crate) const FIXED: usize = 5;

/// The attributes that say how predictions are read.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) classes: usize,
    /// Width and height of every anchor, in pixels of the network's input.
    pub(crate) anchors: Vec<[i64; 2]>,
    downsample: usize,
    scale: f32,
}

impl Cells {
    /// Those of an operator.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Cells> {
        let anchors = attrs.ints("anchors")?;
        let (pairs, rest) = anchors.as_chunks::<2>();
        if pairs.is_empty() || !rest.is_empty() || anchors.iter().any(|a| *a <= 0) {
            fail!(Kind::Argument, "attribute `anchors` is {anchors:?}; it needs pairs of width and height, above 0")
        }
        let (classes, downsample) = (attrs.count("class_num")?, attrs.count("downsample_ratio")?);
        if classes == 0 || downsample == 0 {
            fail!(Kind::Argument, "`class_num` ({classes}) and `downsample_ratio` ({downsample}) must be above 0")
        }
        Ok(Cells { classes, anchors: pairs.to_vec(), downsample, scale: attrs.f32("scale_x_y")? })
    }

    /// Values of a prediction.
    pub(crate) fn entries(&self) -> usize {
        self.classes + FIXED
    }

    /// Checks predictions of `anchors` anchors when the program is built.
    pub(crate) fn infer(&self, cx: &Infer<'_>, anchors: usize) -> Result<oarlock_ir::VarType> {
        let ty = sizes::images(cx, "X")?;
        let channels = anchors * self.entries();
        if ty.shape[1].fits(Dim::Is(channels)) {
            return Ok(ty);
        }
        let what = format_args!(
            "needs {channels} channels ({anchors} anchors of 5 + {} values) in {}",
            self.classes,
            cx.describe("X")
        );
        Err(cx.shape_error(what))
    }

    /// The frame in which predictions of a map of this height are read.
    pub(crate) fn frame<T: Float>(&self, height: usize) -> Frame<T> {
        let scale = f64::from(self.scale);
        Frame {
            cells: T::of(height as f64),
            input: T::of((self.downsample * height) as f64),
            scale: T::of(scale),
            bias: T::of(f64::from((-0.5 * (scale - 1.0)) as f32)),
        }
    }
}

/// Sizes that turn predictions into boxes.
#[derive(Clone, Copy)]
pub(crate) struct Frame<T> {
    /// Cells of the map; Fluid takes its height for both axes.
    pub(crate) cells: T,
    /// Side of the network's input, in pixels.
    pub(crate) input: T,
    scale: T,
    bias: T,
}

impl<T: Float> Frame<T> {
    /// Where a box is centred along an axis, in cells, from its cell and the prediction.
    pub(crate) fn place(&self, cell: usize, x: T) -> T {
        T::of(cell as f64) + sigmoid(x) * self.scale + self.bias
    }
}

/// The logistic function.
pub(crate) fn sigmoid<T: Float>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}
