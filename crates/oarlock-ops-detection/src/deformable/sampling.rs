//! Convolutions that read the image at points moved by offsets, linear between pixels: sizes, columns and gradients.
//!
//! The points of a deformable group are found once and used for all its channels. Threads share out images; the gradient of the
//! filters is summed image after image, so results do not depend on how many threads there are.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kind, Result, Sig, VarType, fail};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::sliding_window::{Axes, sizes as size_list};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm_inline};
use oarlock_tensor::{Float, Tensor};

use crate::sizes;

/// Adds the attributes to a signature.
pub(crate) fn with_attrs(sig: Sig) -> Sig {
    sig.attr("strides", vec![1, 1], "pixels from window to window, down and across")
        .attr("paddings", vec![0, 0], "zeros above and below, left and right of the image")
        .attr("dilations", vec![1, 1], "pixels from point to point of a window, before offsets")
        .attr("groups", 1, "groups of channels that are convolved apart")
        .attr("deformable_groups", 1, "groups of channels that have offsets of their own")
        .attr("im2col_step", 64, "accepted, must be above 0: how many images Fluid lays out at a time")
}

/// The attributes.
#[derive(Clone, Copy)]
pub(crate) struct Params {
    strides: [usize; 2],
    paddings: [usize; 2],
    dilations: [usize; 2],
    groups: usize,
    deformable_groups: usize,
}

impl Params {
    /// Those of an operator.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let pair = |name: &str| Axes::Image.positive(attrs, name).map(|[_, y, x]| [y, x]);
        let paddings = size_list(attrs, "paddings")?;
        let [y, x] = paddings[..] else {
            fail!(Kind::Argument, "attribute `paddings` has {} sizes; it needs 2", paddings.len())
        };
        let above_0 = |name: &str| match attrs.count(name)? {
            0 => fail!(Kind::Argument, "attribute `{name}` is 0; it must be above 0"),
            n => Ok(n),
        };
        above_0("im2col_step")?;
        Ok(Params {
            strides: pair("strides")?,
            paddings: [y, x],
            dilations: pair("dilations")?,
            groups: above_0("groups")?,
            deformable_groups: above_0("deformable_groups")?,
        })
    }

    fn out(&self, axis: usize, n: usize, kernel: usize) -> Option<usize> {
        let window = self.dilations[axis] * kernel.checked_sub(1)? + 1;
        Some((n + 2 * self.paddings[axis]).checked_sub(window)? / self.strides[axis] + 1)
    }

    /// The type of `Output`.
    pub(crate) fn infer(&self, cx: &Infer<'_>, masked: bool) -> Result<VarType> {
        let input = sizes::images(cx, "Input")?;
        let filter = sizes::float(cx, "Filter", &[None; 4], "[filters, channels, height, width]")?;
        let (groups, shared) = (self.groups, self.deformable_groups);
        let fits = match (input.shape[1].known(), filter.shape[0].known(), filter.shape[1].known()) {
            (Some(channels), Some(filters), Some(per_group)) => {
                channels == per_group * groups && filters % groups == 0 && channels % shared == 0
            }
            _ => true,
        };
        if !fits {
            let what = format_args!(
                "cannot divide {} and {} into {groups} groups and {shared} deformable groups",
                cx.describe("Input"),
                cx.describe("Filter")
            );
            return Err(cx.shape_error(what));
        }
        let mut outs = [None; 2];
        for (axis, out) in outs.iter_mut().enumerate() {
            if let (Some(n), Some(k)) = (input.shape[2 + axis].known(), filter.shape[2 + axis].known()) {
                *out = Some(self.out(axis, n, k).ok_or_else(|| {
                    cx.shape_error(format_args!("has windows larger than the image {}", cx.describe("Input")))
                })?);
            }
        }
        let window = filter.shape[2].known().zip(filter.shape[3].known()).map(|(h, w)| h * w * shared);
        let expected = |per_point: usize| [input.shape[0].known(), window.map(|n| n * per_point), outs[0], outs[1]];
        let what = "[n, 2 * deformable_groups * window, as many rows and columns as `Output`]";
        sizes::float(cx, "Offset", &expected(2), what)?;
        if masked {
            sizes::float(
                cx,
                "Mask",
                &expected(1),
                "[n, deformable_groups * window, as many rows and columns as `Output`]",
            )?;
        }
        let out = |axis: usize| outs[axis].map_or(Dim::Any, Dim::Is);
        Ok(VarType::tensor(input.dtype, vec![input.shape[0], filter.shape[0], out(0), out(1)]))
    }
}

/// The inputs of the operator.
#[derive(Clone, Copy)]
pub(crate) struct Inputs {
    pub(crate) input: In,
    pub(crate) offset: In,
    pub(crate) mask: Option<In>,
    pub(crate) filter: In,
}

/// Checked sizes and elements of one run.
pub(crate) struct Batch<'t, T> {
    params: Params,
    pub(crate) images: usize,
    channels: usize,
    height: usize,
    width: usize,
    pub(crate) filters: usize,
    kernel: [usize; 2],
    pub(crate) out: [usize; 2],
    input: &'t [T],
    offset: &'t [T],
    mask: Option<&'t [T]>,
    filter: &'t [T],
}

/// The tensors of the inputs.
pub(crate) struct Tensors<'t> {
    pub(crate) input: &'t Tensor,
    pub(crate) offset: &'t Tensor,
    pub(crate) mask: Option<&'t Tensor>,
    pub(crate) filter: &'t Tensor,
}

/// A point of the image: the four pixels around it with their weights, and how the weights change as it moves down and across.
/// A pixel outside of the image has weight 0.
#[derive(Clone, Copy)]
struct Point<T> {
    at: [usize; 4],
    weight: [T; 4],
    down: [T; 4],
    across: [T; 4],
}

impl<T: Float> Point<T> {
    fn value(&self, plane: &[T], weights: &[T; 4]) -> T {
        self.at.iter().zip(weights).map(|(&at, &w)| plane[at] * w).sum()
    }
}

impl<'t, T: GemmElem> Batch<'t, T> {
    /// Of the inputs of a run.
    pub(crate) fn new(io: &Io<'_>, slots: &Inputs, t: &Tensors<'t>, params: Params) -> Result<Batch<'t, T>> {
        let [images, channels, height, width] = sizes::dims(io, slots.input, t.input, sizes::IMAGES)?;
        let [filters, per_group, kh, kw] =
            sizes::dims(io, slots.filter, t.filter, "[filters, channels, height, width]")?;
        let (groups, shared) = (params.groups, params.deformable_groups);
        let divides = channels == per_group * groups && filters % groups == 0 && channels % shared == 0;
        let what = format_args!("filters for {channels} channels in {groups} groups and {shared} deformable groups");
        sizes::ensure(io, slots.filter, t.filter, divides, what)?;
        let Some((h, w)) = params.out(0, height, kh).zip(params.out(1, width, kw)) else {
            return Err(io.error(
                Kind::Shape,
                slots.input,
                format_args!("is {}, smaller than a window", t.input.dims()),
            ));
        };
        let window = shared * kh * kw;
        expect_dims(io, slots.offset, t.offset, &[images, 2 * window, h, w], "two offsets per point of a window")?;
        let mask = match (slots.mask, t.mask) {
            (Some(slot), Some(tensor)) => {
                expect_dims(io, slot, tensor, &[images, window, h, w], "a factor per point of a window")?;
                Some(io.data::<T>(slot, tensor)?)
            }
            _ => None,
        };
        Ok(Batch {
            params,
            images,
            channels,
            height,
            width,
            filters,
            kernel: [kh, kw],
            out: [h, w],
            input: io.data::<T>(slots.input, t.input)?,
            offset: io.data::<T>(slots.offset, t.offset)?,
            mask,
            filter: io.data::<T>(slots.filter, t.filter)?,
        })
    }

    fn plane(&self) -> usize {
        self.height * self.width
    }

    /// Points of a window.
    fn window(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Windows of an image.
    fn positions(&self) -> usize {
        self.out[0] * self.out[1]
    }

    fn image_len(&self) -> usize {
        self.channels * self.plane()
    }

    pub(crate) fn out_len(&self) -> usize {
        self.filters * self.positions()
    }

    /// Rows of the columns of one group, which are as many as the weights of a filter.
    fn terms(&self) -> usize {
        self.channels / self.params.groups * self.window()
    }

    fn image(&self, image: usize) -> &'t [T] {
        &self.input[image * self.image_len()..][..self.image_len()]
    }

    /// The factor of a point of all windows.
    fn masks(&self, image: usize, tap: usize) -> Option<&'t [T]> {
        let start = (image * self.params.deformable_groups * self.window() + tap) * self.positions();
        self.mask.map(|mask| &mask[start..][..self.positions()])
    }

    /// Where point `tap` of every window lies; `tap` counts the points of all deformable groups.
    fn points(&self, image: usize, tap: usize) -> Vec<Point<T>> {
        let positions = self.positions();
        let taps = self.params.deformable_groups * self.window();
        let offsets = &self.offset[(image * taps + tap) * 2 * positions..][..2 * positions];
        let (i, j) = (tap % self.window() / self.kernel[1], tap % self.kernel[1]);
        let place = |axis: usize, step: usize, k: usize| {
            let at = (step * self.params.strides[axis] + k * self.params.dilations[axis]) as f64;
            T::of(at - self.params.paddings[axis] as f64)
        };
        let one = |p: usize| {
            let y = place(0, p / self.out[1], i) + offsets[p];
            let x = place(1, p % self.out[1], j) + offsets[positions + p];
            self.point(y, x)
        };
        (0..positions).map(one).collect()
    }

    fn point(&self, y: T, x: T) -> Point<T> {
        let none = Point { at: [0; 4], weight: [T::ZERO; 4], down: [T::ZERO; 4], across: [T::ZERO; 4] };
        let inside = |v: T, n: usize| v > -T::ONE && v < T::of(n as f64);
        if !inside(y, self.height) || !inside(x, self.width) {
            return none;
        }
        let (low_y, low_x) = (y.floor(), x.floor());
        let (fy, fx) = (y - low_y, x - low_x);
        let mut point = none;
        let corners = [(0, 0), (0, 1), (1, 0), (1, 1)];
        for (k, (dy, dx)) in corners.into_iter().enumerate() {
            let (row, column) = (low_y.f64() as i64 + dy, low_x.f64() as i64 + dx);
            let row = usize::try_from(row).ok().filter(|row| *row < self.height);
            let column = usize::try_from(column).ok().filter(|column| *column < self.width);
            let Some((row, column)) = row.zip(column) else { continue };
            let (wy, sy) = if dy == 1 { (fy, T::ONE) } else { (T::ONE - fy, -T::ONE) };
            let (wx, sx) = if dx == 1 { (fx, T::ONE) } else { (T::ONE - fx, -T::ONE) };
            point.at[k] = row * self.width + column;
            (point.weight[k], point.down[k], point.across[k]) = (wy * wx, sy * wx, wy * sx);
        }
        point
    }

    /// Calls `f` with each point of the windows, the channels that share it, and where all windows have it.
    fn each_tap(&self, image: usize, mut f: impl FnMut(usize, std::ops::Range<usize>, &[Point<T>])) {
        let per_group = self.channels / self.params.deformable_groups;
        for tap in 0..self.params.deformable_groups * self.window() {
            let group = tap / self.window();
            f(tap, group * per_group..(group + 1) * per_group, &self.points(image, tap));
        }
    }

    /// The windows of an image side by side: a row per channel and point.
    fn columns(&self, image: usize) -> Vec<T> {
        let positions = self.positions();
        let mut columns = vec![T::ZERO; self.channels * self.window() * positions];
        let pixels = self.image(image);
        self.each_tap(image, |tap, channels, points| {
            let masks = self.masks(image, tap);
            for c in channels {
                let plane = &pixels[c * self.plane()..][..self.plane()];
                let row = &mut columns[(c * self.window() + tap % self.window()) * positions..][..positions];
                for (p, (to, point)) in row.iter_mut().zip(points).enumerate() {
                    *to = point.value(plane, &point.weight) * masks.map_or(T::ONE, |masks| masks[p]);
                }
            }
        });
        columns
    }

    /// The results of an image.
    pub(crate) fn forward(&self, image: usize, out: &mut [T]) {
        let (columns, groups, terms) = (self.columns(image), self.params.groups, self.terms());
        let (filters, positions) = (self.filters / groups, self.positions());
        for (g, out) in out.chunks_exact_mut((filters * positions).max(1)).enumerate() {
            let weights = Mat::new(&self.filter[g * filters * terms..], filters, terms);
            gemm_inline(out, weights, Mat::new(&columns[g * terms * positions..], terms, positions), T::ONE, T::ZERO);
        }
    }

    /// The gradients of an image's pixels, offsets and factors.
    pub(crate) fn backward(&self, image: usize, d: &[T], mut to: ImageGrads<'_, T>) {
        let (groups, terms, positions) = (self.params.groups, self.terms(), self.positions());
        let filters = self.filters / groups;
        let mut columns = vec![T::ZERO; groups * terms * positions];
        for (g, columns) in columns.chunks_exact_mut((terms * positions).max(1)).enumerate() {
            let weights = Mat::new(&self.filter[g * filters * terms..], filters, terms).t();
            let d = Mat::new(&d[g * filters * positions..], filters, positions);
            gemm_inline(columns, weights, d, T::ONE, T::ZERO);
        }
        let pixels = self.image(image);
        self.each_tap(image, |tap, channels, points| {
            let masks = self.masks(image, tap);
            for (p, point) in points.iter().enumerate() {
                let mask = masks.map_or(T::ONE, |masks| masks[p]);
                let (mut down, mut across, mut factor) = (T::ZERO, T::ZERO, T::ZERO);
                for c in channels.clone() {
                    let d = columns[(c * self.window() + tap % self.window()) * positions + p];
                    let plane = c * self.plane();
                    if let Some(input) = &mut to.input {
                        let scaled = d * mask;
                        point.at.iter().zip(&point.weight).for_each(|(&at, &w)| input[plane + at] += scaled * w);
                    }
                    if to.offset.is_some() || to.mask.is_some() {
                        let plane = &pixels[plane..][..self.plane()];
                        down += point.value(plane, &point.down) * d * mask;
                        across += point.value(plane, &point.across) * d * mask;
                        factor += point.value(plane, &point.weight) * d;
                    }
                }
                if let Some(offset) = &mut to.offset {
                    (offset[2 * tap * positions + p], offset[(2 * tap + 1) * positions + p]) = (down, across);
                }
                if let Some(mask) = &mut to.mask {
                    mask[tap * positions + p] = factor;
                }
            }
        });
    }

    /// Adds the gradient of the filters from one image.
    pub(crate) fn add_filter_grad(&self, image: usize, d: &[T], to: &mut [T]) {
        let (columns, groups, terms) = (self.columns(image), self.params.groups, self.terms());
        let (filters, positions) = (self.filters / groups, self.positions());
        for (g, to) in to.chunks_exact_mut((filters * terms).max(1)).enumerate() {
            let d = Mat::new(&d[g * filters * positions..], filters, positions);
            let columns = Mat::new(&columns[g * terms * positions..], terms, positions).t();
            gemm_inline(to, d, columns, T::ONE, T::ONE);
        }
    }
}

/// Where the gradients of an image go; pixels are added to, the others are set.
pub(crate) struct ImageGrads<'a, T> {
    pub(crate) input: Option<&'a mut [T]>,
    pub(crate) offset: Option<&'a mut [T]>,
    pub(crate) mask: Option<&'a mut [T]>,
}
