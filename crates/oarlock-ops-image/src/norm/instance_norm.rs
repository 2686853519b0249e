//! `instance_norm`: every channel of every example moved and scaled to mean 0 and variance 1.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType};
use oarlock_ir::{by_float, kernel, product, sig};
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_tensor::{Dims, Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&InstanceNorm, &GRAD, &InstanceNormGradGrad];

struct InstanceNorm;

impl OpDef for InstanceNorm {
    sig! {
        "instance_norm":
            "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias, with statistics of each channel of each example";
        in "X": "[n, channels, ...], f32 or f64";
        in "Scale": "[channels]";
        in "Bias": "[channels]";
        out "Y": "like `X`";
        out "SavedMean": "[n * channels]";
        out "SavedVariance": "[n * channels], 1 / sqrt(variance + epsilon)";
        attr "epsilon" = 1e-5f32, "added to the variance";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        if !(2..=5).contains(&x.shape.rank()) {
            return Err(cx.shape_error(format_args!("needs two to five sizes, but has {}", cx.describe("X"))));
        }
        for slot in ["Scale", "Bias"] {
            if !product(&cx.float(slot)?.shape).fits(x.shape[1]) {
                let what = format_args!("needs one value per channel of {} in {}", cx.describe("X"), cx.describe(slot));
                return Err(cx.shape_error(what));
            }
        }
        let each = VarType::tensor(x.dtype, vec![product(&x.shape[..2])]);
        cx.set("Y", x);
        cx.set("SavedMean", each.clone());
        cx.set("SavedVariance", each);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.input("Scale")?, p.input("Bias")?);
        let outputs = (p.output("Y")?, p.output("SavedMean")?, p.output("SavedVariance")?);
        let epsilon = p.attrs().f32("epsilon")?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, outputs, T::of(epsilon.into()))))
    }
}

/// Examples times channels, and pixels, of a tensor that has `values` values per channel.
fn layout(io: &Io<'_>, x: In, dims: &Dims, values: usize) -> Result<(usize, usize)> {
    if dims.rank() < 2 || dims[1] != values {
        return Err(io.error(
            Kind::Shape,
            x,
            format_args!("has sizes {dims}, but there are {values} factors of channels"),
        ));
    }
    Ok(dims.matrix(2))
}

fn forward<T: Float>(
    io: &Io<'_>,
    (x, scale, bias): (In, In, In),
    (y, mean, inverse): (Out, Out, Out),
    epsilon: T,
) -> Result<()> {
    let (x_tensor, scale_tensor, bias_tensor) = (io.dense(x)?, io.dense(scale)?, io.dense(bias)?);
    let (scales, biases) = (io.data::<T>(scale, &scale_tensor)?, io.data::<T>(bias, &bias_tensor)?);
    let (planes, pixels) = layout(io, x, x_tensor.dims(), scales.len())?;
    oarlock_ops_support::class_axis::same_count(io, scale, bias, scales.len(), biases.len())?;
    let each = Dims::from([planes]);
    let (mut mean_tensor, mut inverse_tensor) =
        (io.out_sized(mean, T::DTYPE, each)?, io.out_sized(inverse, T::DTYPE, each)?);
    let mut t = io.out_sized(y, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let (means, inverses) =
        (io.data_mut::<T>(mean, &mut mean_tensor)?, io.data_mut::<T>(inverse, &mut inverse_tensor)?);
    let (x, y, count) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(y, &mut t)?, T::of(pixels.max(1) as f64));
    let stats = means.iter_mut().zip(inverses);
    for (plane, ((x, y), (mean, inverse))) in
        x.chunks(pixels.max(1)).zip(y.chunks_mut(pixels.max(1))).zip(stats).enumerate()
    {
        *mean = simd::sum(x) / count;
        *inverse = T::ONE / (simd::sum_of_squared_deviations(x, *mean) / count + epsilon).sqrt();
        let factor = scales[plane % scales.len()] * *inverse;
        simd::scale_bias(y, x, factor, biases[plane % scales.len()] - *mean * factor);
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(
    &InstanceNorm,
    "instance_norm_grad(X, Scale, SavedMean, SavedVariance, Y@GRAD) -> X@GRAD, Scale@GRAD, Bias@GRAD",
)
.doc("gradients of `instance_norm`")
.infer(|cx| {
    cx.grads_of(&["X", "Scale"])?;
    cx.same("Bias@GRAD", "Scale")
})
.grad(|g| {
    let places = Places {
        reads: &[
            ("X", "X"),
            ("Scale", "Scale"),
            ("SavedMean", "SavedMean"),
            ("SavedVariance", "SavedVariance"),
            ("DY", "Y@GRAD"),
        ],
        grads: &[("DDX", "X@GRAD"), ("DDScale", "Scale@GRAD"), ("DDBias", "Bias@GRAD")],
        writes: &[("DX", "X"), ("DScale", "Scale"), ("DDY", "Y@GRAD")],
    };
    emit_from(g, "instance_norm_grad_grad", &places)
})
.kernel(|p| {
    let inputs = ["X", "Scale", "SavedMean", "SavedVariance", "Y@GRAD"].map(|slot| p.input(slot));
    let [x, scale, mean, inverse, dy] = inputs;
    let inputs = [x?, scale?, mean?, inverse?, dy?];
    let outputs = [p.maybe_output("X@GRAD")?, p.maybe_output("Scale@GRAD")?, p.maybe_output("Bias@GRAD")?];
    by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs)))
});

fn backward<T: Float>(
    io: &Io<'_>,
    [x, scale, mean, inverse, dy]: [In; 5],
    [dx, dscale, dbias]: [Option<Out>; 3],
) -> Result<()> {
    let (x_tensor, scale_tensor, dy_tensor) = (io.dense(x)?, io.dense(scale)?, io.dense(dy)?);
    let (mean_tensor, inverse_tensor) = (io.dense(mean)?, io.dense(inverse)?);
    let scales = io.data::<T>(scale, &scale_tensor)?;
    let (planes, pixels) = layout(io, x, x_tensor.dims(), scales.len())?;
    let (xs, d) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(dy, &dy_tensor)?);
    let (means, inverses) = (io.data::<T>(mean, &mean_tensor)?, io.data::<T>(inverse, &inverse_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, x, dy, xs.len(), d.len())?;
    oarlock_ops_support::class_axis::same_count(io, x, mean, planes, means.len())?;
    oarlock_ops_support::class_axis::same_count(io, x, inverse, planes, inverses.len())?;
    let part = |i: usize| i * pixels..(i + 1) * pixels;
    let slope = |i: usize| simd::dot_deviations(&d[part(i)], &xs[part(i)], means[i]) * inverses[i];
    if let Some(dscale) = dscale {
        let mut t = io.out_sized(dscale, T::DTYPE, *scale_tensor.dims())?;
        let sums = io.data_mut::<T>(dscale, &mut t)?;
        sums.fill(T::ZERO);
        (0..planes).for_each(|i| sums[i % scales.len()] += slope(i));
    }
    if let Some(dbias) = dbias {
        let mut t = io.out_sized(dbias, T::DTYPE, *scale_tensor.dims())?;
        let sums = io.data_mut::<T>(dbias, &mut t)?;
        sums.fill(T::ZERO);
        (0..planes).for_each(|i| sums[i % scales.len()] += simd::sum(&d[part(i)]));
    }
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        t.set_lod(x_tensor.lod().clone());
        let dx = io.data_mut::<T>(dx, &mut t)?;
        let count = T::of(pixels.max(1) as f64);
        for i in 0..planes {
            let factor = scales[i % scales.len()] * inverses[i];
            let (b, c) = (-factor * inverses[i] * slope(i) / count, -factor * simd::sum(&d[part(i)]) / count);
            simd::normalize_grad(&mut dx[part(i)], &d[part(i)], &xs[part(i)], means[i], [factor, b, c]);
        }
    }
    Ok(())
}

struct InstanceNormGradGrad;

impl OpDef for InstanceNormGradGrad {
    sig! {
        "instance_norm_grad_grad":
            "with N(v) = v - mean(v) - n mean(v n) of a channel n = (X - mean) / deviation: \
                   DDY = Scale N(DDX) / deviation + DDScale n + DDBias, DScale = sum(DDX N(DY)) / deviation, and DX follows";
        in "X": "of the forward operator";
        in "Scale": "of the forward operator";
        in "SavedMean": "of the forward operator";
        in "SavedVariance": "of the forward operator";
        in "DY": "gradient of `Y`";
        in? "DDX": "gradient of the gradient of `X`";
        in? "DDScale": "gradient of the gradient of `Scale`";
        in? "DDBias": "gradient of the gradient of `Bias`";
        out? "DX": "gradient of `X`";
        out? "DScale": "gradient of `Scale`";
        out? "DDY": "gradient of `DY`";
        attr "epsilon" = 1e-5f32, "of the forward operator";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("DX", "X")?;
        cx.same("DScale", "Scale")?;
        cx.same("DDY", "DY")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let [x, scale, mean, inverse, dy] = ["X", "Scale", "SavedMean", "SavedVariance", "DY"].map(|s| p.input(s));
        let inputs = [x?, scale?, mean?, inverse?, dy?];
        let grads = [p.maybe_input("DDX")?, p.maybe_input("DDScale")?, p.maybe_input("DDBias")?];
        let outputs = [p.maybe_output("DX")?, p.maybe_output("DScale")?, p.maybe_output("DDY")?];
        by_float!(p.float("X")?, T => {
            let mut memory = [const { Vec::new() }; 3];
            kernel(move |io| backward_twice::<T>(io, inputs, grads, outputs, &mut memory))
        })
    }
}

/// One channel of one example.
struct Plane<'a, T> {
    /// The channel moved and scaled to mean 0 and variance 1.
    n: &'a [T],
    dy: &'a [T],
    /// The gradient of the gradient of X.
    ddx: &'a [T],
    scale: T,
    /// One over the deviation.
    inverse: T,
    /// Gradient of the gradient of the scale.
    ddscale: T,
}

impl<T: Float> Plane<'_, T> {
    fn mean(&self, value: impl Fn(usize) -> T) -> T {
        (0..self.n.len()).fold(T::ZERO, |sum, i| sum + value(i)) / T::of(self.n.len().max(1) as f64)
    }

    /// `v - mean(v) - n mean(v n)`: what of a change of the channel is left when it is normalized.
    fn normalized(&self, v: &[T], out: &mut [T]) {
        let (mean, along) = (self.mean(|i| v[i]), self.mean(|i| v[i] * self.n[i]));
        for (i, out) in out.iter_mut().enumerate() {
            *out = v[i] - mean - self.n[i] * along;
        }
    }

    /// The inner product of `DDX` with the normalized `DY`, over the pixels.
    fn product(&self) -> T {
        let (a, b) = (self.mean(|i| self.ddx[i]), self.mean(|i| self.dy[i]));
        let (c, d) = (self.mean(|i| self.ddx[i] * self.n[i]), self.mean(|i| self.dy[i] * self.n[i]));
        self.mean(|i| self.ddx[i] * self.dy[i]) - a * b - c * d
    }

    /// The gradient of X: through n, and through the deviation. `work` is overwritten.
    fn dx(&self, work: &mut [T], out: &mut [T]) {
        let (c, d) = (self.mean(|i| self.ddx[i] * self.n[i]), self.mean(|i| self.dy[i] * self.n[i]));
        let factor = self.scale * self.inverse;
        for (i, w) in work.iter_mut().enumerate() {
            *w = self.ddscale * self.dy[i] - factor * (self.ddx[i] * d + self.dy[i] * c);
        }
        self.normalized(work, out);
        let deviation = factor * self.inverse * self.product();
        for (out, n) in out.iter_mut().zip(self.n) {
            *out = self.inverse * *out - deviation * *n;
        }
    }

    /// The gradient of `DY`, without what comes from the bias.
    fn ddy(&self, out: &mut [T]) {
        self.normalized(self.ddx, out);
        for (out, n) in out.iter_mut().zip(self.n) {
            *out = self.scale * self.inverse * *out + self.ddscale * *n;
        }
    }
}

/// The elements of a slot, or as many zeros if it is empty.
fn or_zeros<T: Float>(io: &Io<'_>, slot: Option<In>, like: In, count: usize, to: &mut Vec<T>) -> Result<()> {
    to.clear();
    to.resize(count, T::ZERO);
    if let Some(slot) = slot {
        let tensor = io.dense(slot)?;
        let data = io.data::<T>(slot, &tensor)?;
        oarlock_ops_support::class_axis::same_count(io, like, slot, count, data.len())?;
        to.copy_from_slice(data);
    }
    Ok(())
}

fn backward_twice<T: Float>(
    io: &Io<'_>,
    [x, scale, mean, inverse, dy]: [In; 5],
    [ddx, ddscale, ddbias]: [Option<In>; 3],
    [dx, dscale, ddy]: [Option<Out>; 3],
    [ddxs, n, work]: &mut [Vec<T>; 3],
) -> Result<()> {
    let (x_tensor, scale_tensor, dy_tensor) = (io.dense(x)?, io.dense(scale)?, io.dense(dy)?);
    let (mean_tensor, inverse_tensor) = (io.dense(mean)?, io.dense(inverse)?);
    let scales = io.data::<T>(scale, &scale_tensor)?;
    let (planes, pixels) = layout(io, x, x_tensor.dims(), scales.len())?;
    let (xs, dys) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(dy, &dy_tensor)?);
    let (means, inverses) = (io.data::<T>(mean, &mean_tensor)?, io.data::<T>(inverse, &inverse_tensor)?);
    for (slot, count, found) in
        [(dy, xs.len(), dys.len()), (mean, planes, means.len()), (inverse, planes, inverses.len())]
    {
        oarlock_ops_support::class_axis::same_count(io, x, slot, count, found)?;
    }
    let (mut ddscales, mut ddbiases) = (Vec::new(), Vec::new());
    or_zeros(io, ddx, x, xs.len(), ddxs)?;
    or_zeros(io, ddscale, scale, scales.len(), &mut ddscales)?;
    or_zeros(io, ddbias, scale, scales.len(), &mut ddbiases)?;
    let open =
        |out: Option<Out>, like: &Dims| out.map(|out| Ok((out, io.out_sized(out, T::DTYPE, *like)?))).transpose();
    let (mut dx, mut ddy) = (open(dx, x_tensor.dims())?, open(ddy, dy_tensor.dims())?);
    let mut dscale = open(dscale, scale_tensor.dims())?;
    if let Some((out, t)) = &mut dscale {
        io.data_mut::<T>(*out, t)?.fill(T::ZERO);
    }
    n.resize(pixels, T::ZERO);
    work.resize(pixels, T::ZERO);
    for i in 0..planes {
        let (part, channel) = (i * pixels..(i + 1) * pixels, i % scales.len());
        n.iter_mut().zip(&xs[part.clone()]).for_each(|(n, x)| *n = (*x - means[i]) * inverses[i]);
        let plane = Plane {
            n,
            dy: &dys[part.clone()],
            ddx: &ddxs[part.clone()],
            scale: scales[channel],
            inverse: inverses[i],
            ddscale: ddscales[channel],
        };
        if let Some((out, t)) = &mut dx {
            plane.dx(work, &mut io.data_mut::<T>(*out, t)?[part.clone()]);
        }
        if let Some((out, t)) = &mut ddy {
            let to = &mut io.data_mut::<T>(*out, t)?[part];
            plane.ddy(to);
            to.iter_mut().for_each(|v| *v += ddbiases[channel]);
        }
        if let Some((out, t)) = &mut dscale {
            io.data_mut::<T>(*out, t)?[channel] += plane.product() * inverses[i] * T::of(pixels as f64);
        }
    }
    Ok(())
}

#[test]
fn channels_of_examples() {
    use crate::testing::{check, noise, tensor};
    check("instance_norm")
        .attr("epsilon", 0.0f32)
        .input("X", tensor([1, 2, 2], &[1.0, 3.0, 0.0, 8.0]))
        .input("Scale", tensor([2], &[1.0, 2.0]))
        .input("Bias", tensor([2], &[0.5, 0.0]))
        .output("Y", tensor([1, 2, 2], &[-0.5, 1.5, -2.0, 2.0]))
        .output("SavedMean", tensor([2], &[2.0, 4.0]))
        .output("SavedVariance", tensor([2], &[1.0, 0.25]))
        .run();
    check("instance_norm")
        .input("X", noise([2, 2, 3], 1))
        .input("Scale", noise([2], 2))
        .input("Bias", noise([2], 3))
        .any_output("Y")
        .any_output("SavedMean")
        .any_output("SavedVariance")
        .counting(&["Y"])
        .grad(&["X", "Scale", "Bias"])
        .run();
    let e = check("instance_norm").input("X", noise([2, 3, 2], 1)).input("Scale", noise([2], 1));
    let e = e.input("Bias", noise([2], 1)).any_output("Y").error();
    assert!(e.contains("needs one value per channel of `X` = X.0 f32[2, 3, 2] in `Scale` = Scale.0 f32[2]"), "{e}");
}
