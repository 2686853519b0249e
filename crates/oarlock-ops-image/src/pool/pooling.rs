//! Pooling of images and volumes: what `pool2d`, `pool3d` and the pools with indices share.

use oarlock_ir::{AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::sliding_window::{Axes, Format, Padding, met};
use oarlock_tensor::{Dims, Float, Pool, simd};

/// One of the operators.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// Its gradient operator's type.
    pub(crate) grad_type: &'static str,
    /// Images or volumes.
    pub(crate) axes: Axes,
}

/// The attributes that all pools have.
pub(crate) fn with_common_attrs(axes: Axes, sig: Sig) -> Sig {
    let (n, doc) = (axes.count(), "around the image: one size for each axis, or before and after each axis");
    sig.required_attr("ksize", "sizes of the window; of the output, if adaptive")
        .attr("strides", vec![1; n], "steps of the window along each axis")
        .attr("paddings", vec![0; n], doc)
        .attr("global_pooling", false, "one window over the whole image")
        .attr("adaptive", false, "as many windows as `ksize` says, of nearly equal size")
}

fn with_attrs(axes: Axes, sig: Sig) -> Sig {
    with_common_attrs(axes, sig)
        .required_attr("pooling_type", "max or avg")
        .attr(
            "padding_algorithm",
            "EXPLICIT",
            "EXPLICIT uses `paddings`; SAME keeps the size (over the stride); VALID pads nothing",
        )
        .attr("ceil_mode", false, "a last window may reach beyond the image")
        .attr("exclusive", true, "a mean does not count padding")
        .attr("data_format", if axes == Axes::Image { "NCHW" } else { "NCDHW" }, "channels second or last")
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Params {
    pub(crate) axes: Axes,
    pub(crate) max: bool,
    pub(crate) ksize: [usize; 3],
    pub(crate) strides: [usize; 3],
    pub(crate) padding: Padding,
    pub(crate) windows: Kinds,
    pub(crate) ceil: bool,
    pub(crate) exclusive: bool,
    pub(crate) format: Format,
}

/// Which windows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// Those that slide by the stride.
    Sliding,
    /// One.
    Global,
    /// As many as `ksize` says, of nearly equal size.
    Adaptive,
    /// As many as `ksize` says, but sliding: so are Fluid's adaptive maxima, unless they come with indices.
    Counted,
}

impl Kinds {
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Kinds> {
        Ok(match (attrs.bool("global_pooling")?, attrs.bool("adaptive")?) {
            (true, _) => Kinds::Global,
            (false, true) => Kinds::Adaptive,
            (false, false) => Kinds::Sliding,
        })
    }

    /// The window of global pooling is the image, whatever the attribute says.
    pub(crate) fn ksize(self, axes: Axes, attrs: &AttrView<'_>) -> Result<[usize; 3]> {
        if self == Kinds::Global { Ok([1; 3]) } else { axes.positive(attrs, "ksize") }
    }
}

impl Params {
    pub(crate) fn new(axes: Axes, attrs: &AttrView<'_>) -> Result<Params> {
        let max = match attrs.str("pooling_type")? {
            "max" => true,
            "avg" => false,
            other => fail!(Kind::Argument, "attribute `pooling_type` is `{other}`; it can be `max` or `avg`"),
        };
        let windows = match Kinds::new(attrs)? {
            Kinds::Adaptive if max => Kinds::Counted,
            other => other,
        };
        Ok(Params {
            axes,
            max,
            ksize: windows.ksize(axes, attrs)?,
            strides: axes.positive(attrs, "strides")?,
            padding: Padding::new(attrs, axes)?,
            windows,
            ceil: attrs.bool("ceil_mode")?,
            exclusive: attrs.bool("exclusive")?,
            format: Format::new(attrs, "data_format")?,
        })
    }

    /// How many windows an axis of `n` pixels has; `None` if the window is larger than the image.
    pub(crate) fn count(&self, axis: usize, n: usize) -> Option<usize> {
        match self.windows {
            Kinds::Global => Some(1),
            Kinds::Adaptive | Kinds::Counted => Some(self.ksize[axis]),
            Kinds::Sliding => {
                let (k, stride) = (self.ksize[axis], self.strides[axis]);
                let (before, after) = self.padding.around(axis, n, k, stride);
                let steps = (n + before + after).checked_sub(k)?;
                Some(if self.ceil { steps.div_ceil(stride) } else { steps / stride } + 1)
            }
        }
    }

    /// First pixel and end of every window along an axis, without padding.
    pub(crate) fn spans(&self, axis: usize, n: usize, spans: &mut Vec<(usize, usize)>) -> Option<()> {
        let count = self.count(axis, n)?;
        let (k, stride) = (self.ksize[axis], self.strides[axis]);
        let (before, _) = self.padding.around(axis, n, k, stride);
        let span = |i: usize| match self.windows {
            Kinds::Global => (0, n),
            Kinds::Adaptive => (i * n / count, ((i + 1) * n).div_ceil(count)),
            Kinds::Sliding | Kinds::Counted => {
                let end = (i * stride + k).saturating_sub(before).min(n);
                ((i * stride).saturating_sub(before).min(end), end)
            }
        };
        spans.clear();
        spans.extend((0..count).map(span));
        Some(())
    }

    /// Windows of two by two pixels side by side, which cover the image but for a last row or column.
    pub(crate) fn halves(&self) -> bool {
        let plain = matches!(self.padding, Padding::Valid | Padding::Explicit([(0, 0), (0, 0), (0, 0)]));
        let sliding = self.windows == Kinds::Sliding && !self.ceil;
        plain && sliding && self.ksize == [1, 2, 2] && self.strides == [1, 2, 2]
    }

    /// The shape of `Out`.
    pub(crate) fn infer(&self, cx: &Infer<'_>) -> Result<VarType> {
        let x = cx.float("X")?;
        let Some((c, sizes)) = self.format.split_shape(self.axes, &x.shape) else {
            let rank = self.axes.rank();
            return Err(cx.shape_error(format_args!("needs {rank} sizes, but has {}", cx.describe("X"))));
        };
        let mut out = [Dim::Any; 3];
        for (axis, out) in out.iter_mut().enumerate() {
            *out = match (self.windows, sizes[axis].known()) {
                (Kinds::Global, _) => Dim::Is(1),
                (Kinds::Adaptive | Kinds::Counted, _) => Dim::Is(self.ksize[axis]),
                (Kinds::Sliding, None) => Dim::Any,
                (Kinds::Sliding, Some(n)) => match self.count(axis, n) {
                    Some(count) => Dim::Is(count),
                    None => return Err(self.too_large(cx)),
                },
            };
        }
        let shape: Vec<Dim> = self.format.join(self.axes, x.shape[0], c, out).collect();
        Ok(VarType::tensor(x.dtype, shape))
    }

    pub(crate) fn too_large(&self, cx: &Infer<'_>) -> oarlock_ir::Error {
        let (window, x) = (self.axes.shown(&self.ksize), cx.describe("X"));
        cx.shape_error(format_args!("has a window of {window:?}, larger than the image: {x}"))
    }
}

/// A pool without indices.
pub(crate) struct Plain(pub(crate) Variant);

impl OpDef for Plain {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.0.op_type, "Out = maximum or mean of X in every window")
            .input("X", "images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64")
            .output("Out", "[n, channels, number of windows along each axis]");
        with_attrs(self.0.axes, sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let out = Params::new(self.0.axes, &cx.attrs())?.infer(cx)?;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, params) = (p.input("X")?, p.output("Out")?, Params::new(self.0.axes, &p.attrs())?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| forward(io, x, out, &params, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, &["Out", "Out@GRAD", "X"], &["X@GRAD"])
    }
}

/// Memory that stays from run to run.
#[derive(Default)]
struct Scratch<T> {
    windows: Windows,
    /// Tensors with channels first, if they come in another order: images, outputs, gradients.
    moved: [Vec<T>; 4],
}

type Span = (usize, usize);

/// The windows of a channel, and its size.
#[derive(Default)]
pub(crate) struct Windows {
    /// Depth, height and width of the channel.
    pub(crate) sizes: [usize; 3],
    /// Along each axis.
    pub(crate) spans: [Vec<Span>; 3],
}

impl Windows {
    /// Finds the windows for a tensor; returns the number of channels.
    pub(crate) fn set(&mut self, io: &Io<'_>, input: In, params: &Params, dims: &Dims) -> Result<usize> {
        let found = params.format.split_dims(params.axes, dims).and_then(|(c, sizes)| {
            self.sizes = sizes;
            for (axis, spans) in self.spans.iter_mut().enumerate() {
                params.spans(axis, sizes[axis], spans)?;
            }
            Some(c)
        });
        found.ok_or_else(|| io.error(Kind::Shape, input, format_args!("has sizes {dims}, too small for the window")))
    }

    pub(crate) fn pixels(&self) -> usize {
        self.sizes.iter().product()
    }

    pub(crate) fn count(&self) -> usize {
        self.counts().iter().product()
    }

    /// Windows along each axis.
    pub(crate) fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.spans[axis].len())
    }

    /// Pairs of spans for the lines of the output, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (Span, Span)> + '_ {
        self.spans[0].iter().flat_map(|&z| self.spans[1].iter().map(move |&y| (z, y)))
    }

    /// Where the lines of the image begin that windows with these spans cover.
    pub(crate) fn covered(&self, z: Span, y: Span) -> impl Iterator<Item = usize> + use<> {
        let [_, height, width] = self.sizes;
        (z.0..z.1).flat_map(move |z| (y.0..y.1).map(move |y| (z * height + y) * width))
    }

    /// The first pixel of a window with this value. Looks at all of them, the last one first: where in its window a maximum
    /// stands is chance, and a wrong guess of the processor costs more than the pixels that need not be looked at.
    pub(crate) fn first<T: Float>(&self, (z, y): (Span, Span), x: Span, image: &[T], value: T) -> Option<usize> {
        let [_, height, width] = self.sizes;
        let mut found = usize::MAX;
        for line in (z.0..z.1).rev().flat_map(|z| (y.0..y.1).rev().map(move |y| (z * height + y) * width)) {
            for (i, v) in image[line + x.0..line + x.1].iter().enumerate().rev() {
                found = if *v == value { line + x.0 + i } else { found };
            }
        }
        (found != usize::MAX).then_some(found)
    }

    /// The pixels of a window, in order.
    pub(crate) fn window(&self, (z, y): (Span, Span), x: Span) -> impl Iterator<Item = usize> + use<> {
        self.covered(z, y).flat_map(move |line| line + x.0..line + x.1)
    }

    /// The divisor of a mean.
    pub(crate) fn divisor<T: Float>(&self, params: &Params, (z, y): (Span, Span), x: Span) -> T {
        let pixels = if params.exclusive || params.windows != Kinds::Sliding {
            (z.1 - z.0) * (y.1 - y.0) * (x.1 - x.0)
        } else {
            params.ksize.iter().product()
        };
        T::of(pixels.max(1) as f64)
    }
}

/// Channels that one task works on.
const CHANNELS: usize = 16;

fn forward<T: Float>(io: &Io<'_>, x: In, out: Out, params: &Params, scratch: &mut Scratch<T>) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let Scratch { windows, moved: [images, results, ..] } = scratch;
    let channels = windows.set(io, x, params, x_tensor.dims())?;
    let dims = params.format.dims(params.axes, x_tensor.rows(), channels, windows.counts());
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    let images = params.format.channels_first(x_tensor.dims(), io.data::<T>(x, &x_tensor)?, images);
    params.format.fill_channels_first(&dims, io.data_mut::<T>(out, &mut t)?, results, |out| {
        let (pixels, count) = (windows.pixels(), windows.count());
        io.pool().pieces(out, CHANNELS * count.max(1), |i, out| {
            let images = images[i * CHANNELS * pixels..].chunks_exact(pixels.max(1));
            for (image, out) in images.zip(out.chunks_exact_mut(count)) {
                channel(params, windows, image, out);
            }
        });
    });
    Ok(())
}

fn channel<T: Float>(params: &Params, windows: &Windows, image: &[T], out: &mut [T]) {
    if params.halves() {
        let (width, out_width) = (windows.sizes[2], windows.spans[2].len());
        let rows = out.chunks_exact_mut(out_width).zip(image.chunks_exact(2 * width));
        return rows.for_each(|(out, rows)| {
            let (top, bottom) = rows.split_at(width);
            if params.max { halve_max(top, bottom, out) } else { halve_mean(top, bottom, out) }
        });
    }
    for (lines, out) in windows.lines().zip(out.chunks_exact_mut(windows.spans[2].len())) {
        match params.windows {
            Kinds::Sliding if params.max && windows.sizes[2] <= LINE => slide_max(params, windows, lines, image, out),
            Kinds::Sliding => slide(params, windows, lines, image, out),
            _ => any(params, windows, lines, image, out),
        }
        if !params.max {
            let spans = windows.spans[2].iter();
            out.iter_mut().zip(spans).for_each(|(out, &x)| *out /= windows.divisor(params, lines, x));
        }
    }
}

/// The longest line of an image whose maxima are taken by [`slide_max`].
const LINE: usize = 512;

/// Maxima of a line of windows that slide: first of whole lines, element by element, then along the line.
fn slide_max<T: Float>(params: &Params, windows: &Windows, (z, y): (Span, Span), image: &[T], out: &mut [T]) {
    let (width, kernel, stride) = (windows.sizes[2], params.ksize[2], params.strides[2]);
    let (before, _) = params.padding.around(2, width, kernel, stride);
    let mut highest = [-T::INFINITY; LINE];
    let highest = &mut highest[..width];
    for line in windows.covered(z, y) {
        highest.iter_mut().zip(&image[line..line + width]).for_each(|(h, v)| *h = larger(*h, *v));
    }
    out.fill(-T::INFINITY);
    for k in 0..kernel {
        let (range, start) = met(width, before, stride, k, out.len());
        if !range.is_empty() {
            let pairs = out[range].iter_mut().zip(highest[start..].iter().step_by(stride));
            pairs.for_each(|(out, v)| *out = larger(*out, *v));
        }
    }
}

/// Maxima or sums of a line of windows that slide: pass after pass over the line, for each element of the window.
fn slide<T: Float>(params: &Params, windows: &Windows, (z, y): (Span, Span), image: &[T], out: &mut [T]) {
    let (width, kernel, stride) = (windows.sizes[2], params.ksize[2], params.strides[2]);
    let (before, _) = params.padding.around(2, width, kernel, stride);
    out.fill(if params.max { -T::INFINITY } else { T::ZERO });
    for line in windows.covered(z, y) {
        let line = &image[line..line + width];
        for k in 0..kernel {
            let (range, start) = met(width, before, stride, k, out.len());
            if range.is_empty() {
                continue;
            }
            let pairs = out[range].iter_mut().zip(line[start..].iter().step_by(stride));
            if params.max {
                pairs.for_each(|(out, v)| *out = larger(*out, *v));
            } else {
                pairs.for_each(|(out, v)| *out += *v);
            }
        }
    }
}

/// Maxima or sums of a line of windows of any width.
fn any<T: Float>(params: &Params, windows: &Windows, (z, y): (Span, Span), image: &[T], out: &mut [T]) {
    for (out, &x) in out.iter_mut().zip(&windows.spans[2]) {
        let parts = windows.covered(z, y).map(|line| &image[line + x.0..line + x.1]);
        *out = if params.max {
            parts.flatten().fold(-T::INFINITY, |max, &v| larger(max, v))
        } else {
            parts.map(simd::sum).sum()
        };
    }
}

fn halve_max<T: Float>(top: &[T], bottom: &[T], out: &mut [T]) {
    for ((out, t), b) in out.iter_mut().zip(top.chunks_exact(2)).zip(bottom.chunks_exact(2)) {
        let (t, b) = (larger(t[0], t[1]), larger(b[0], b[1]));
        *out = larger(t, b);
    }
}

fn larger<T: Float>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

fn halve_mean<T: Float>(top: &[T], bottom: &[T], out: &mut [T]) {
    for ((out, t), b) in out.iter_mut().zip(top.chunks_exact(2)).zip(bottom.chunks_exact(2)) {
        *out = (t[0] + t[1] + b[0] + b[1]) * T::of(0.25);
    }
}

/// The gradient of a pool without indices.
pub(crate) struct PlainGrad(pub(crate) Variant);

impl OpDef for PlainGrad {
    fn sig(&self) -> Sig {
        let doc = "X@GRAD = Out@GRAD at the first maximum of each window, or shared out equally for means";
        Sig::new(self.0.grad_type, doc).grad_of(&Plain(self.0).sig(), &["X", "Out", "Out@GRAD"], &["X@GRAD"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("X@GRAD", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.input("Out")?, p.input("Out@GRAD")?);
        let (dx, params) = (p.output("X@GRAD")?, Params::new(self.0.axes, &p.attrs())?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| backward(io, inputs, dx, &params, &mut scratch))
        })
    }
}

fn backward<T: Float>(
    io: &Io<'_>,
    (x, out, dout): (In, In, In),
    dx: Out,
    params: &Params,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (x_tensor, out_tensor, dout_tensor) = (io.dense(x)?, io.dense(out)?, io.dense(dout)?);
    let Scratch { windows, moved: [images, outs, douts, results] } = scratch;
    let channels = windows.set(io, x, params, x_tensor.dims())?;
    for (input, t) in [(out, &out_tensor), (dout, &dout_tensor)] {
        if t.numel() != x_tensor.rows() * channels * windows.count() {
            return Err(io.error(Kind::Shape, input, format_args!("has sizes {}, not those of the output", t.dims())));
        }
    }
    let (x_dims, out_dims) = (*x_tensor.dims(), *out_tensor.dims());
    let images = params.format.channels_first(&x_dims, io.data::<T>(x, &x_tensor)?, images);
    let outs = params.format.channels_first(&out_dims, io.data::<T>(out, &out_tensor)?, outs);
    let douts = params.format.channels_first(&out_dims, io.data::<T>(dout, &dout_tensor)?, douts);
    let mut t = io.out_sized(dx, T::DTYPE, x_dims)?;
    params.format.fill_channels_first(&x_dims, io.data_mut::<T>(dx, &mut t)?, results, |dx| {
        backward_channels(io.pool(), params, windows, (images, outs, douts), dx);
    });
    Ok(())
}

fn backward_channels<T: Float>(
    pool: &Pool,
    params: &Params,
    windows: &Windows,
    (images, outs, douts): (&[T], &[T], &[T]),
    dx: &mut [T],
) {
    let (pixels, count) = (windows.pixels().max(1), windows.count().max(1));
    pool.pieces(dx, CHANNELS * pixels, |i, dx| {
        for (c, dx) in dx.chunks_exact_mut(pixels).enumerate() {
            let at = i * CHANNELS + c;
            let (image, at) = (&images[at * pixels..][..pixels], at * count);
            let (out, dout) = (&outs[at..][..count], &douts[at..][..count]);
            if params.halves() {
                backward_halves(params, windows, image, (out, dout), dx);
            } else {
                backward_channel(params, windows, image, (out, dout), dx);
            }
        }
    });
}

fn backward_halves<T: Float>(params: &Params, windows: &Windows, image: &[T], (out, dout): (&[T], &[T]), dx: &mut [T]) {
    let (width, count) = (windows.sizes[2], windows.spans[2].len());
    let (even, last_row) = (2 * count, 2 * windows.spans[1].len());
    // A last row or column that no window covers.
    dx[last_row * width..].fill(T::ZERO);
    for (row, dx) in dx[..last_row * width].chunks_exact_mut(2 * width).enumerate() {
        let (top, bottom) = dx.split_at_mut(width);
        top[even..].fill(T::ZERO);
        bottom[even..].fill(T::ZERO);
        let d = &dout[row * count..][..count];
        if !params.max {
            for ((d, t), b) in d.iter().zip(top.chunks_exact_mut(2)).zip(bottom.chunks_exact_mut(2)) {
                let share = *d * T::of(0.25);
                (t[0], t[1], b[0], b[1]) = (share, share, share, share);
            }
            continue;
        }
        let (x_top, x_bottom) = image[row * 2 * width..][..2 * width].split_at(width);
        let pairs = x_top.chunks_exact(2).zip(x_bottom.chunks_exact(2)).zip(out[row * count..].iter().zip(d));
        for (((xt, xb), (out, d)), (t, b)) in pairs.zip(top.chunks_exact_mut(2).zip(bottom.chunks_exact_mut(2))) {
            let first = [xt[0] == *out, xt[1] == *out, xb[0] == *out, xb[1] == *out];
            let pass = |hit: bool| if hit { *d } else { T::ZERO };
            t[0] = pass(first[0]);
            t[1] = pass(first[1] & !first[0]);
            b[0] = pass(first[2] & !(first[0] | first[1]));
            b[1] = pass(first[3] & !(first[0] | first[1] | first[2]));
        }
    }
}

fn backward_channel<T: Float>(
    params: &Params,
    windows: &Windows,
    image: &[T],
    (out, dout): (&[T], &[T]),
    dx: &mut [T],
) {
    dx.fill(T::ZERO);
    let windows_in_order = windows.lines().flat_map(|lines| windows.spans[2].iter().map(move |&x| (lines, x)));
    for ((lines, x), (out, d)) in windows_in_order.zip(out.iter().zip(dout)) {
        if params.max {
            if let Some(i) = windows.first(lines, x, image, *out) {
                dx[i] += *d;
            }
        } else {
            let share = *d / windows.divisor(params, lines, x);
            for line in windows.covered(lines.0, lines.1) {
                dx[line + x.0..line + x.1].iter_mut().for_each(|v| *v += share);
            }
        }
    }
}
