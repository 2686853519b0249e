//! Images and volumes made larger or smaller: what the operators `..._interp` share.

use oarlock_ir::{AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{by_float, kernel};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::sliding_window::{Axes, Format};
use oarlock_tensor::{DType, Dims, Float};

/// One of the operators.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// Its gradient operator's type.
    pub(crate) grad_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// Images or volumes.
    pub(crate) axes: Axes,
    /// How.
    pub(crate) method: Method,
}

/// How pixels of the result come from those of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Each is one of them.
    Nearest,
    /// Each lies between two along every axis.
    Linear,
    /// Each comes from four along every axis, by a curve of third degree.
    Cubic,
}

fn with_sizes(sig: Sig) -> Sig {
    sig.optional_input("OutSize", "i32, the sizes of the result; replaces the attributes and `Scale`")
        .optional_inputs("SizeTensor", "i32, one size each; replace all others")
        .optional_input("Scale", "[1]; replaces `scale`")
        .attr("out_d", 0, "depth of the result")
        .attr("out_h", 0, "height of the result")
        .attr("out_w", 0, "width of the result")
        .attr("scale", 0.0f32, "if above 0, sizes of the result over those of the image")
        .attr("align_corners", true, "the first and last pixels of image and result stand at the same place")
        .attr("align_mode", 1, "without aligned corners: 0 compares centres of pixels, 1 their left upper corners")
        .attr("data_layout", "NCHW", "channels second or last")
        .hints(&["interp_method"])
}

/// The attributes that places depend on.
#[derive(Debug, Clone, Copy)]
struct Params {
    axes: Axes,
    method: Method,
    corners: bool,
    centres: bool,
    format: Format,
}

impl Params {
    fn new(variant: &Variant, attrs: &AttrView<'_>) -> Result<Params> {
        let corners = attrs.bool("align_corners")?;
        let centres = attrs.int("align_mode")? == 0 && !corners;
        let format = Format::new(attrs, "data_layout")?;
        Ok(Params { axes: variant.axes, method: variant.method, corners, centres, format })
    }

    /// The pixels that pixel `i` of `out` comes from, of an axis with `n`, and their weights.
    fn tap<T: Float>(&self, i: usize, n: usize, out: usize) -> Tap<T> {
        let ratio = match (out, self.corners) {
            (0 | 1, _) => T::ZERO,
            (_, true) => T::of((n - 1) as f64) / T::of((out - 1) as f64),
            (_, false) => T::of(n as f64) / T::of(out as f64),
        };
        let (i, half) = (T::of(i as f64), T::of(0.5));
        let place = match self.method {
            Method::Nearest if self.corners => return Tap::at((ratio * i + half).f64() as usize, n),
            Method::Nearest => return Tap::at((ratio * i).f64() as usize, n),
            Method::Linear if self.centres => (ratio * (i + half) - half).max(T::ZERO),
            Method::Linear => ratio * i,
            Method::Cubic if self.corners => return Tap::cubic(ratio * i, n),
            Method::Cubic => return Tap::cubic(ratio * (i + half) - half, n),
        };
        Tap::linear(place, n)
    }
}

/// The pixels that a pixel of the result comes from.
#[derive(Debug, Clone, Copy)]
struct Tap<T> {
    /// With their weights.
    pixels: [(usize, T); 4],
    /// How many there are.
    count: usize,
}

impl<T: Float> Tap<T> {
    fn at(place: usize, n: usize) -> Tap<T> {
        Tap { pixels: [(place.min(n - 1), T::ONE); 4], count: 1 }
    }

    /// The one or two pixels around a place.
    fn linear(place: T, n: usize) -> Tap<T> {
        let first = (place.f64() as usize).min(n - 1);
        let second = place - T::of(first as f64);
        let mut tap = Tap::at(first, n);
        if second != T::ZERO {
            tap.pixels[0].1 = T::ONE - second;
            tap.pixels[1] = ((first + 1).min(n - 1), second);
            tap.count = 2;
        }
        tap
    }

    /// The four pixels around a place, those beyond the border replaced by the ones on it.
    fn cubic(place: T, n: usize) -> Tap<T> {
        // Steepness of the curve at the pixels.
        const A: f64 = -0.75;
        let near = |x: T| (T::of(A + 2.0) * x - T::of(A + 3.0)) * x * x + T::ONE;
        let far = |x: T| ((T::of(A) * x - T::of(5.0 * A)) * x + T::of(8.0 * A)) * x - T::of(4.0 * A);
        let (first, x) = (place.floor(), place - place.floor());
        let pixel = |step: i64| (first.f64() as i64 + step).clamp(0, n as i64 - 1) as usize;
        let y = T::ONE - x;
        let pixels =
            [(pixel(-1), far(x + T::ONE)), (pixel(0), near(x)), (pixel(1), near(y)), (pixel(2), far(y + T::ONE))];
        Tap { pixels, count: 4 }
    }

    /// The pixels that count, with their weights.
    fn parts(&self) -> impl Iterator<Item = (usize, T)> + use<T> {
        self.pixels.into_iter().take(self.count)
    }
}

/// Where the sizes of the result come from.
struct Wanted {
    out_size: Option<In>,
    list: Vec<In>,
    scale: Option<In>,
    /// The attributes.
    factor: f32,
    sizes: [usize; 3],
}

impl Wanted {
    fn new(p: &Prepare<'_>, axes: Axes) -> Result<Wanted> {
        let (out_size, list, scale) = (p.maybe_input("OutSize")?, p.inputs("SizeTensor")?, p.maybe_input("Scale")?);
        let attrs = p.attrs();
        Ok(Wanted { out_size, list, scale, factor: attrs.f32("scale")?, sizes: attr_sizes(&attrs, axes)? })
    }

    fn sizes(&self, io: &Io<'_>, axes: Axes, image: [usize; 3]) -> Result<[usize; 3]> {
        let mut found = self.sizes;
        let skip = 3 - axes.count();
        let factor = self.scale.map_or(Ok(self.factor.into()), |scale| io.scalar(scale))?;
        if self.list.len() == axes.count() {
            for (size, &input) in found[skip..].iter_mut().zip(&self.list) {
                *size = usize::try_from(io.index(input)?).unwrap_or(0);
            }
        } else if let Some(input) = self.out_size {
            let tensor = io.dense(input)?;
            let list = Ints::of(io, input, &tensor)?;
            if list.len() != axes.count() {
                let what = format_args!("has {} sizes, but {} are needed", list.len(), axes.count());
                return Err(io.error(Kind::Shape, input, what));
            }
            for (i, size) in found[skip..].iter_mut().enumerate() {
                *size = list.count(io, input, i)?;
            }
        } else if factor > 0.0 {
            for (size, n) in found[skip..].iter_mut().zip(&image[skip..]) {
                *size = (*n as f64 * factor) as usize;
            }
        }
        if found[skip..].contains(&0) {
            let sizes = &found[skip..];
            return Err(io.op_error(Kind::Argument, format_args!("cannot make a result of sizes {sizes:?}")));
        }
        Ok(found)
    }
}

/// The sizes of the attributes; 0 for one that is not set. Images have depth 1.
fn attr_sizes(attrs: &AttrView<'_>, axes: Axes) -> Result<[usize; 3]> {
    let size = |name: &str| Ok(usize::try_from(attrs.int(name)?).unwrap_or(0));
    let depth = if axes == Axes::Image { 1 } else { size("out_d")? };
    Ok([depth, size("out_h")?, size("out_w")?])
}

/// The operator.
pub(crate) struct Interp(pub(crate) Variant);

impl OpDef for Interp {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.0.op_type, self.0.doc)
            .input("X", "images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64")
            .output("Out", "[n, channels, sizes of the result]");
        with_sizes(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (mut x, params) = (cx.input("X")?, Params::new(&self.0, &cx.attrs())?);
        // Pixels as cameras give them can be resized, but have no gradient.
        if x.dtype != DType::U8 {
            x = cx.float("X")?;
        }
        let Some((c, image)) = params.format.split_shape(params.axes, &x.shape) else {
            let rank = params.axes.rank();
            return Err(cx.shape_error(format_args!("needs {rank} sizes, but has {}", cx.describe("X"))));
        };
        let (attrs, computed) = (cx.attrs(), cx.has("OutSize") || cx.has("Scale"));
        let (sizes, factor) = (attr_sizes(&attrs, params.axes)?, f64::from(attrs.f32("scale")?));
        let mut out = [Dim::Any; 3];
        for (axis, out) in out.iter_mut().enumerate() {
            *out = match sizes[axis] {
                _ if axis == 0 && params.axes == Axes::Image => Dim::Is(1),
                _ if computed => Dim::Any,
                _ if factor > 0.0 && !cx.has("SizeTensor") => {
                    image[axis].known().map_or(Dim::Any, |n| Dim::Is((n as f64 * factor) as usize))
                }
                0 if !cx.has("SizeTensor") => return Err(unknown(cx)),
                0 => Dim::Any,
                n => Dim::Is(n),
            };
        }
        let shape: Vec<Dim> = params.format.join(params.axes, x.shape[0], c, out).collect();
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, params) = (p.input("X")?, p.output("Out")?, Params::new(&self.0, &p.attrs())?);
        let wanted = Wanted::new(p, params.axes)?;
        if p.dtype("X")? == DType::U8 {
            let (mut scratch, mut pixels) = (Scratch::<f32>::default(), [Vec::new(), Vec::new()]);
            return kernel(move |io| forward_bytes(io, (x, out), &params, &wanted, &mut scratch, &mut pixels));
        }
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| forward(io, x, out, &params, &wanted, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, &["Out@GRAD", "OutSize", "Scale", "SizeTensor", "X"], &["X@GRAD"])
    }
}

fn unknown(cx: &Infer<'_>) -> oarlock_ir::Error {
    cx.shape_error(format_args!("does not know how large to make {}", cx.describe("X")))
        .help("set sizes above 0, or a scale")
}

/// Memory that stays from run to run.
#[derive(Default)]
struct Scratch<T> {
    /// For each axis, where every pixel of the result comes from.
    taps: [Vec<Tap<T>>; 3],
    /// Batches with channels first, if they come with channels last.
    moved: [Vec<T>; 2],
}

/// Sizes of an image and of the result, and the number of channels.
struct Sizes {
    channels: usize,
    image: [usize; 3],
    out: [usize; 3],
}

impl Sizes {
    fn new<T: Float>(
        io: &Io<'_>,
        x: In,
        dims: &Dims,
        params: &Params,
        wanted: &Wanted,
        taps: &mut [Vec<Tap<T>>; 3],
    ) -> Result<Sizes> {
        let found = params.format.split_dims(params.axes, dims).filter(|(_, image)| !image.contains(&0));
        let Some((channels, image)) = found else {
            return Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}, which are no images with pixels")));
        };
        let out = wanted.sizes(io, params.axes, image)?;
        for (axis, taps) in taps.iter_mut().enumerate() {
            taps.clear();
            taps.extend((0..out[axis]).map(|i| params.tap(i, image[axis], out[axis])));
        }
        Ok(Sizes { channels, image, out })
    }

    /// Calls `f` for every pixel of the result and every pixel of the image that it comes from, with the weight.
    fn each<T: Float>(&self, taps: &[Vec<Tap<T>>; 3], mut f: impl FnMut(usize, usize, T)) {
        let [_, height, width] = self.image;
        let mut to = 0;
        for z in &taps[0] {
            for y in &taps[1] {
                for x in &taps[2] {
                    for (iz, wz) in z.parts() {
                        for (iy, wy) in y.parts() {
                            for (ix, wx) in x.parts() {
                                f(to, (iz * height + iy) * width + ix, wz * wy * wx);
                            }
                        }
                    }
                    to += 1;
                }
            }
        }
    }

    /// Fills the images of `out` from those of `images`, both with channels first.
    fn resize<T: Float>(&self, taps: &[Vec<Tap<T>>; 3], images: &[T], out: &mut [T]) {
        let (pixels, len) = self.lens();
        out.fill(T::ZERO);
        for (image, out) in images.chunks_exact(pixels).zip(out.chunks_exact_mut(len)) {
            self.each(taps, |to, from, weight| out[to] += image[from] * weight);
        }
    }

    fn lens(&self) -> (usize, usize) {
        (self.image.iter().product(), self.out.iter().product())
    }
}

fn forward<T: Float>(
    io: &Io<'_>,
    x: In,
    out: Out,
    params: &Params,
    wanted: &Wanted,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let Scratch { taps, moved: [images, results] } = scratch;
    let sizes = Sizes::new(io, x, x_tensor.dims(), params, wanted, taps)?;
    let dims = params.format.dims(params.axes, x_tensor.rows(), sizes.channels, sizes.out);
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    let images = params.format.channels_first(x_tensor.dims(), io.data::<T>(x, &x_tensor)?, images);
    let to = io.data_mut::<T>(out, &mut t)?;
    params.format.fill_channels_first(&dims, to, results, |out| sizes.resize(taps, images, out));
    Ok(())
}

/// The same for pixels of one byte: computed in f32, and cut to whole numbers as in Fluid.
fn forward_bytes(
    io: &Io<'_>,
    (x, out): (In, Out),
    params: &Params,
    wanted: &Wanted,
    scratch: &mut Scratch<f32>,
    [pixels, resized]: &mut [Vec<f32>; 2],
) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let Scratch { taps, moved: [images, results] } = scratch;
    let sizes = Sizes::new(io, x, x_tensor.dims(), params, wanted, taps)?;
    let dims = params.format.dims(params.axes, x_tensor.rows(), sizes.channels, sizes.out);
    let mut t = io.out_sized(out, DType::U8, dims)?;
    pixels.clear();
    pixels.extend(io.data::<u8>(x, &x_tensor)?.iter().map(|&v| f32::from(v)));
    resized.resize(dims.numel(), 0.0);
    let images = params.format.channels_first(x_tensor.dims(), pixels, images);
    params.format.fill_channels_first(&dims, resized, results, |out| sizes.resize(taps, images, out));
    io.data_mut::<u8>(out, &mut t)?.iter_mut().zip(resized).for_each(|(to, v)| *to = *v as u8);
    Ok(())
}

/// The gradient operator.
pub(crate) struct InterpGrad(pub(crate) Variant);

impl OpDef for InterpGrad {
    fn sig(&self) -> Sig {
        let doc = "X@GRAD = for every pixel, the sum of Out@GRAD over what it contributed to, times the weight";
        Sig::new(self.0.grad_type, doc)
            .grad_of(&Interp(self.0).sig(), &["X", "Out@GRAD", "OutSize", "SizeTensor", "Scale"], &["X@GRAD"])
            .traits(Traits::NONE.shape_only(&["X"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let params = Params::new(&self.0, &p.attrs())?;
        let wanted = Wanted::new(p, params.axes)?;
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| backward(io, (x, dout), dx, &params, &wanted, &mut scratch))
        })
    }
}

fn backward<T: Float>(
    io: &Io<'_>,
    (x, dout): (In, In),
    dx: Out,
    params: &Params,
    wanted: &Wanted,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (x_tensor, dout_tensor) = (io.dense(x)?, io.dense(dout)?);
    let Scratch { taps, moved: [moved, results] } = scratch;
    let x_dims = *x_tensor.dims();
    let sizes = Sizes::new(io, x, &x_dims, params, wanted, taps)?;
    let d = params.format.channels_first(dout_tensor.dims(), io.data::<T>(dout, &dout_tensor)?, moved);
    let (pixels, len) = sizes.lens();
    if d.len() != x_tensor.rows() * sizes.channels * len {
        let what = format_args!("has sizes {}, which are not those of the output", dout_tensor.dims());
        return Err(io.error(Kind::Shape, dout, what));
    }
    let mut t = io.out_sized(dx, T::DTYPE, x_dims)?;
    params.format.fill_channels_first(&x_dims, io.data_mut::<T>(dx, &mut t)?, results, |dx| {
        dx.fill(T::ZERO);
        for (dx, d) in dx.chunks_exact_mut(pixels).zip(d.chunks_exact(len)) {
            sizes.each(taps, |to, from, weight| dx[from] += d[to] * weight);
        }
    });
    Ok(())
}
