//! `pool2d`: the maximum or mean of every window of an image.

use oarlock_ir::{
    AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType, by_float, fail, kernel,
};
use oarlock_tensor::{Dims, Float, Pool};

use crate::sliding::{self, Format, Padding};

pub(crate) const OPS: &[&dyn OpDef] = &[&Pool2d, &Pool2dGrad];

fn attrs(sig: Sig) -> Sig {
    sig.required_attr("pooling_type", "max or avg")
        .required_attr("ksize", "height and width of the window; of the output, if adaptive")
        .attr("strides", vec![1, 1], "steps of the window, vertical and horizontal")
        .attr("paddings", vec![0, 0], "around the image: vertical, horizontal; or top, bottom, left, right")
        .attr(
            "padding_algorithm",
            "EXPLICIT",
            "EXPLICIT uses `paddings`; SAME keeps the size (over the stride); VALID pads nothing",
        )
        .attr("global_pooling", false, "one window over the whole image")
        .attr("adaptive", false, "as many windows as `ksize` says, of nearly equal size")
        .attr("ceil_mode", false, "a last window may reach beyond the image")
        .attr("exclusive", true, "a mean does not count padding")
        .attr("data_format", "NCHW", "NCHW or NHWC")
}

#[derive(Debug, Clone, Copy)]
struct Params {
    max: bool,
    ksize: [usize; 2],
    strides: [usize; 2],
    padding: Padding,
    global: bool,
    adaptive: bool,
    ceil: bool,
    exclusive: bool,
    format: Format,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let max = match attrs.str("pooling_type")? {
            "max" => true,
            "avg" => false,
            other => fail!(Kind::Argument, "attribute `pooling_type` is `{other}`; it can be `max` or `avg`"),
        };
        let global = attrs.bool("global_pooling")?;
        Ok(Params {
            max,
            // The window of global pooling is the image, whatever the attribute says.
            ksize: if global { [1, 1] } else { sliding::pair(attrs, "ksize")? },
            strides: sliding::pair(attrs, "strides")?,
            padding: Padding::new(attrs)?,
            global,
            adaptive: attrs.bool("adaptive")?,
            ceil: attrs.bool("ceil_mode")?,
            exclusive: attrs.bool("exclusive")?,
            format: Format::new(attrs, "data_format")?,
        })
    }

    /// How many windows an axis of `n` pixels has; `None` if the window is larger than the image.
    fn count(&self, axis: usize, n: usize) -> Option<usize> {
        if self.global {
            return Some(1);
        }
        if self.adaptive {
            return Some(self.ksize[axis]);
        }
        let (k, stride) = (self.ksize[axis], self.strides[axis]);
        let (before, after) = self.padding.around(axis, n, k, stride);
        let steps = (n + before + after).checked_sub(k)?;
        Some(if self.ceil { steps.div_ceil(stride) } else { steps / stride } + 1)
    }

    /// First pixel and end of every window along an axis, without padding.
    fn spans(&self, axis: usize, n: usize, spans: &mut Vec<(usize, usize)>) -> Option<()> {
        let count = self.count(axis, n)?;
        let (k, stride) = (self.ksize[axis], self.strides[axis]);
        let (before, _) = self.padding.around(axis, n, k, stride);
        let span = |i: usize| {
            if self.global {
                (0, n)
            } else if self.adaptive && !self.max {
                // Fluid's maxima take `adaptive` for the number of windows only; layers use another operator for those.
                (i * n / count, ((i + 1) * n).div_ceil(count))
            } else {
                let end = (i * stride + k).saturating_sub(before).min(n);
                ((i * stride).saturating_sub(before).min(end), end)
            }
        };
        spans.clear();
        spans.extend((0..count).map(span));
        Some(())
    }

    /// Windows of two by two pixels side by side, which cover the image but for a last row or column.
    fn halves(&self) -> bool {
        let plain = matches!(self.padding, Padding::Valid | Padding::Explicit([0, 0, 0, 0]));
        plain && self.ksize == [2, 2] && self.strides == [2, 2] && !(self.global || self.adaptive || self.ceil)
    }
}

struct Pool2d;

impl OpDef for Pool2d {
    fn sig(&self) -> Sig {
        let sig = Sig::new("pool2d", "Out = maximum or mean of X in every window")
            .input("X", "images [n, channels, h, w], f32 or f64")
            .output("Out", "[n, channels, out h, out w]");
        attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let params = Params::new(&cx.attrs())?;
        let x = cx.float("X")?;
        let Some((c, h, w)) = params.format.split(&x.shape) else {
            return Err(cx.shape_error(format_args!("needs images of four sizes, but has {}", cx.describe("X"))));
        };
        let out = |axis: usize, n: Dim| match n.known() {
            _ if params.global => Ok(Dim::Is(1)),
            _ if params.adaptive => Ok(Dim::Is(params.ksize[axis])),
            None => Ok(Dim::Any),
            Some(n) => match params.count(axis, n) {
                Some(count) => Ok(Dim::Is(count)),
                None => Err(cx.shape_error(format_args!(
                    "has a window of {:?}, larger than the image: {}",
                    params.ksize,
                    cx.describe("X")
                ))),
            },
        };
        let shape = params.format.join(x.shape[0], c, out(0, h)?, out(1, w)?);
        cx.set("Out", VarType::tensor(x.dtype, shape.to_vec()));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, params) = (p.input("X")?, p.output("Out")?, Params::new(&p.attrs())?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| forward(io, x, out, &params, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("pool2d_grad", &["Out", "Out@GRAD", "X"], &["X@GRAD"])
    }
}

/// Memory that stays from run to run.
#[derive(Default)]
struct Scratch<T> {
    windows: Windows,
    /// Tensors in the order NCHW, if they come in another one: images, outputs, gradients.
    moved: [Vec<T>; 4],
}

/// The windows of a channel, and its size.
#[derive(Default)]
struct Windows {
    height: usize,
    width: usize,
    y: Vec<(usize, usize)>,
    x: Vec<(usize, usize)>,
}

impl Windows {
    fn set(&mut self, io: &Io<'_>, input: In, params: &Params, dims: &Dims) -> Result<usize> {
        let found = params.format.split(dims).and_then(|(c, h, w)| {
            (self.height, self.width) = (h, w);
            params.spans(0, h, &mut self.y)?;
            params.spans(1, w, &mut self.x)?;
            Some(c)
        });
        found.ok_or_else(|| io.error(Kind::Shape, input, format_args!("has sizes {dims}, too small for the window")))
    }

    fn pixels(&self) -> usize {
        self.height * self.width
    }

    fn count(&self) -> usize {
        self.y.len() * self.x.len()
    }

    /// What a mean is divided by.
    fn divisor<T: Float>(&self, params: &Params, y: (usize, usize), x: (usize, usize)) -> T {
        let pixels = if params.exclusive || params.adaptive || params.global {
            (y.1 - y.0) * (x.1 - x.0)
        } else {
            params.ksize[0] * params.ksize[1]
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
    let shape = params.format.join(x_tensor.rows(), channels, windows.y.len(), windows.x.len());
    let mut t = io.out_sized(out, T::DTYPE, Dims::from(shape))?;
    let dims = *t.dims();
    let images = params.format.to_nchw(x_tensor.dims(), io.data::<T>(x, &x_tensor)?, images);
    params.format.fill_nchw(&dims, io.data_mut::<T>(out, &mut t)?, results, |out| {
        let (pixels, count) = (windows.pixels(), windows.count());
        io.pool().pieces(out, CHANNELS * count.max(1), |i, out| {
            let images = images[i * CHANNELS * pixels..].chunks_exact(pixels.max(1));
            for (image, out) in images.zip(out.chunks_exact_mut(count)) {
                channel(params, windows, image, out);
            }
        });
        Ok(())
    })
}

fn channel<T: Float>(params: &Params, windows: &Windows, image: &[T], out: &mut [T]) {
    if params.halves() {
        let rows = out.chunks_exact_mut(windows.x.len()).zip(image.chunks_exact(2 * windows.width));
        return rows.for_each(|(out, rows)| {
            let (top, bottom) = rows.split_at(windows.width);
            if params.max { halve_max(top, bottom, out) } else { halve_mean(top, bottom, out) }
        });
    }
    for (&y, out) in windows.y.iter().zip(out.chunks_exact_mut(windows.x.len())) {
        for (&x, out) in windows.x.iter().zip(out) {
            let rows = (y.0..y.1).map(|row| &image[row * windows.width..][x.0..x.1]);
            *out = if params.max {
                rows.flatten().fold(-T::INFINITY, |max, &v| if v > max { v } else { max })
            } else {
                rows.flatten().copied().sum::<T>() / windows.divisor(params, y, x)
            };
        }
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

struct Pool2dGrad;

impl OpDef for Pool2dGrad {
    fn sig(&self) -> Sig {
        let doc = "X@GRAD = Out@GRAD at the first maximum of each window, or shared out equally for means";
        let sig = Sig::new("pool2d_grad", doc)
            .input("X", "of the forward operator")
            .input("Out", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .output("X@GRAD", "gradient of `X`");
        attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("X@GRAD", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.input("Out")?, p.input("Out@GRAD")?);
        let (dx, params) = (p.output("X@GRAD")?, Params::new(&p.attrs())?);
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
    let images = params.format.to_nchw(&x_dims, io.data::<T>(x, &x_tensor)?, images);
    let outs = params.format.to_nchw(&out_dims, io.data::<T>(out, &out_tensor)?, outs);
    let douts = params.format.to_nchw(&out_dims, io.data::<T>(dout, &dout_tensor)?, douts);
    let mut t = io.out_sized(dx, T::DTYPE, x_dims)?;
    params.format.fill_nchw(&x_dims, io.data_mut::<T>(dx, &mut t)?, results, |dx| {
        backward_channels(io.pool(), params, windows, (images, outs, douts), dx);
        Ok(())
    })
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
    let (width, count) = (windows.width, windows.x.len());
    let (even, last_row) = (2 * count, 2 * windows.y.len());
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
    for (row, &y) in windows.y.iter().enumerate() {
        for (col, &x) in windows.x.iter().enumerate() {
            let at = row * windows.x.len() + col;
            let mut pixels = (y.0..y.1).flat_map(|row| (x.0..x.1).map(move |col| row * windows.width + col));
            if params.max {
                if let Some(i) = pixels.find(|&i| image[i] == out[at]) {
                    dx[i] += dout[at];
                }
            } else {
                let share = dout[at] / windows.divisor(params, y, x);
                pixels.for_each(|i| dx[i] += share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn pool(kind: &str, ksize: [i32; 2]) -> Check {
        check("pool2d").attr("pooling_type", kind).attr("ksize", ksize.to_vec())
    }

    #[test]
    fn two_by_two() {
        let x = || tensor([1, 1, 2, 5], &[1.0, 2.0, 3.0, 4.0, 5.0, -1.0, 0.5, 9.0, 8.0, 7.0]);
        let case = |kind| pool(kind, [2, 2]).attr("strides", vec![2, 2]).input("X", x()).grad(&["X"]);
        case("max").output("Out", tensor([1, 1, 1, 2], &[2.0, 9.0])).run();
        case("avg").output("Out", tensor([1, 1, 1, 2], &[0.625, 6.0])).run();
    }

    #[test]
    fn the_first_maximum_gets_the_gradient() {
        let ties = || tensor([1, 1, 2, 2], &[1.0, 1.0, 1.0, 1.0]);
        let grad = || {
            check("pool2d_grad")
                .attr("pooling_type", "max")
                .attr("ksize", vec![2, 2])
                .input("X", ties())
                .input("Out", tensor([1, 1, 1, 1], &[1.0]))
                .input("Out@GRAD", tensor([1, 1, 1, 1], &[0.5]))
                .output("X@GRAD", tensor([1, 1, 2, 2], &[0.5, 0.0, 0.0, 0.0]))
        };
        grad().run();
        grad().attr("strides", vec![2, 2]).run();
    }

    #[test]
    fn any_window() {
        // All different, so that a small step does not change which one is the maximum.
        let values: Vec<f32> = (0..80).map(|i| (i * 37 % 80) as f32 / 10.0).collect();
        let x = || tensor([2, 2, 5, 4], &values);
        for kind in ["max", "avg"] {
            let case = |ksize| pool(kind, ksize).input("X", x()).any_output("Out").grad(&["X"]);
            case([3, 2]).attr("paddings", vec![1, 1]).attr("strides", vec![2, 1]).run();
            case([2, 2]).attr("strides", vec![2, 2]).attr("ceil_mode", true).attr("exclusive", false).run();
            case([2, 3]).attr("adaptive", true).run();
            case([9, 9]).attr("global_pooling", true).run();
            case([3, 3]).attr("padding_algorithm", "SAME").attr("data_format", "NHWC").run();
        }
    }

    #[test]
    fn mistakes() {
        let e = pool("max", [3, 3]).input("X", noise([1, 1, 2, 2], 1)).any_output("Out").error();
        assert!(e.contains("`pool2d` has a window of [3, 3], larger than the image: `X` = X.0 f32[1, 1, 2, 2]"), "{e}");
        let e = pool("median", [1, 1]).input("X", noise([1, 1, 2, 2], 1)).any_output("Out").error();
        assert!(e.contains("attribute `pooling_type` is `median`; it can be `max` or `avg`"), "{e}");
    }
}
