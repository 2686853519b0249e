//! `affine_channel`: every channel times a number plus a number.

use oarlock_ir::{AttrView, Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::sliding_window::Format;
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&AffineChannel, &GRAD];

/// Channels of a tensor, and elements from one channel to the next.
fn channels(io: &Io<'_>, x: In, format: Format, dims: &Dims) -> Result<(usize, usize)> {
    match (format, &dims[..]) {
        (Format::ChannelsFirst, [_, c, rest @ ..]) => Ok((*c, rest.iter().product())),
        (Format::ChannelsLast, [.., c]) => Ok((*c, 1)),
        _ => Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}, but channels are needed"))),
    }
}

fn format(attrs: &AttrView<'_>) -> Result<Format> {
    Format::new(attrs, "data_layout")
}

struct AffineChannel;

impl OpDef for AffineChannel {
    sig! {
        "affine_channel": "Out = Scale * X + Bias, channel by channel";
        in "X": "[n, channels, ...] or [n, ..., channels], f32 or f64";
        in "Scale": "[channels]";
        in "Bias": "[channels]";
        out "Out": "like `X`";
        attr "data_layout" = "AnyLayout", "NCHW or NHWC: channels second or last";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, format) = (cx.float("X")?, format(&cx.attrs())?);
        let axis = if format == Format::ChannelsFirst { 1 } else { x.shape.rank().saturating_sub(1) };
        for slot in ["Scale", "Bias"] {
            let ty = cx.float(slot)?;
            let fits = x.shape.get(axis).is_some_and(|c| oarlock_ir::product(&ty.shape).fits(*c));
            if !fits {
                let what = format_args!("needs one value per channel of {} in {}", cx.describe("X"), cx.describe(slot));
                return Err(cx.shape_error(what));
            }
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("Scale")?, p.input("Bias")?), p.output("Out")?);
        let format = format(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, out, format)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("affine_channel_grad", &["Out@GRAD", "Scale", "X"], &["Bias@GRAD", "Scale@GRAD", "X@GRAD"])
    }
}

fn forward<T: Float>(io: &Io<'_>, (x, scale, bias): (In, In, In), out: Out, format: Format) -> Result<()> {
    let (x_tensor, scale_tensor, bias_tensor) = (io.dense(x)?, io.dense(scale)?, io.dense(bias)?);
    let (channels, step) = channels(io, x, format, x_tensor.dims())?;
    let mut t = io.out_sized(out, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let (scales, biases) = (io.data::<T>(scale, &scale_tensor)?, io.data::<T>(bias, &bias_tensor)?);
    for (input, values) in [(scale, scales), (bias, biases)] {
        if values.len() != channels {
            let what = format_args!("has {} elements, but there are {channels} channels", values.len());
            return Err(io.error(Kind::Shape, input, what));
        }
    }
    let (x, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
    for (i, (out, x)) in out.chunks_mut(step.max(1)).zip(x.chunks(step.max(1))).enumerate() {
        let (scale, bias) = (scales[i % channels], biases[i % channels]);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = *x * scale + bias);
    }
    Ok(())
}

const GRAD: GradOp =
    GradOp::of(&AffineChannel, "affine_channel_grad(X, Scale, Out@GRAD) -> X@GRAD, Scale@GRAD, Bias@GRAD")
        .doc("gradients of `affine_channel`")
        .traits(Traits::NONE)
        .infer(|cx| {
            cx.grads_of(&["X", "Scale"])?;
            cx.same("Bias@GRAD", "Scale")
        })
        .kernel(|p| {
            let inputs = (p.input("X")?, p.input("Scale")?, p.input("Out@GRAD")?);
            let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Scale@GRAD")?, p.maybe_output("Bias@GRAD")?);
            let format = format(&p.attrs())?;
            by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs, format)))
        });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, scale, dout): (In, In, In),
    (dx, dscale, dbias): (Option<Out>, Option<Out>, Option<Out>),
    format: Format,
) -> Result<()> {
    let (x_tensor, scale_tensor, dout_tensor) = (io.dense(x)?, io.dense(scale)?, io.dense(dout)?);
    let (channels, step) = channels(io, x, format, x_tensor.dims())?;
    let (xs, scales, d) =
        (io.data::<T>(x, &x_tensor)?, io.data::<T>(scale, &scale_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, x, dout, xs.len(), d.len())?;
    let step = step.max(1);
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        t.set_lod(x_tensor.lod().clone());
        for (i, (dx, d)) in io.data_mut::<T>(dx, &mut t)?.chunks_mut(step).zip(d.chunks(step)).enumerate() {
            let scale = scales[i % channels];
            dx.iter_mut().zip(d).for_each(|(dx, d)| *dx = *d * scale);
        }
    }
    let sums = |out: Option<Out>, f: fn(T, T) -> T| -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let mut t = io.out_sized(out, T::DTYPE, *scale_tensor.dims())?;
        let sums = io.data_mut::<T>(out, &mut t)?;
        sums.fill(T::ZERO);
        for (i, (d, x)) in d.chunks(step).zip(xs.chunks(step)).enumerate() {
            sums[i % channels] += d.iter().zip(x).map(|(d, x)| f(*d, *x)).sum::<T>();
        }
        Ok(())
    };
    sums(dscale, |d, x| d * x)?;
    sums(dbias, |d, _| d)
}

#[test]
fn each_channel() {
    use crate::testing::{check, noise, tensor};
    let case = |x: oarlock_tensor::Tensor, layout: &str| {
        let scale = tensor([2], &[2.0, -1.0]);
        check("affine_channel").attr("data_layout", layout).input("X", x).input("Scale", scale)
    };
    let x = || tensor([1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let bias = || tensor([2], &[0.5, 0.0]);
    let first = case(x(), "NCHW").input("Bias", bias()).output("Out", tensor([1, 2, 2], &[2.5, 4.5, -3.0, -4.0]));
    first.grad(&["X", "Scale", "Bias"]).run();
    let last = case(x(), "NHWC").input("Bias", bias()).output("Out", tensor([1, 2, 2], &[2.5, -2.0, 6.5, -4.0]));
    last.grad(&["X", "Scale", "Bias"]).run();
    let e = case(x(), "NCHW").input("Bias", noise([3], 1)).any_output("Out").error();
    assert!(e.contains("needs one value per channel of `X` = X.0 f32[1, 2, 2] in `Bias` = Bias.0 f32[3]"), "{e}");
}
