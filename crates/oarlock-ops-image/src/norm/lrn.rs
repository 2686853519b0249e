//! `lrn`: every element divided by the size of its neighbours in other channels.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::sliding_window::{Axes, Format};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Lrn, &GRAD];

#[derive(Debug, Clone, Copy)]
struct Params {
    /// Neighbours on each side.
    reach: usize,
    k: f32,
    alpha: f32,
    beta: f32,
    format: Format,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let n = attrs.count("n")?;
        if n % 2 == 0 {
            fail!(Kind::Argument, "attribute `n` of `lrn` is {n}; it must be odd");
        }
        let (k, alpha, beta) = (attrs.f32("k")?, attrs.f32("alpha")?, attrs.f32("beta")?);
        Ok(Params { reach: n / 2, k, alpha, beta, format: Format::new(attrs, "data_format")? })
    }
}

/// A batch as `[images, channels, pixels]`, with the distances between neighbours.
#[derive(Debug, Clone, Copy)]
struct Layout {
    channels: usize,
    /// Elements from one channel to the next.
    step: usize,
}

impl Layout {
    fn new(io: &Io<'_>, x: In, params: &Params, dims: &Dims) -> Result<Layout> {
        match params.format.split_dims(Axes::Image, dims) {
            Some((channels, [_, h, w])) => {
                let step = if params.format == Format::ChannelsFirst { h * w } else { 1 };
                Ok(Layout { channels, step })
            }
            None => Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}; images of four sizes are needed"))),
        }
    }

    /// The sum of `f` over the neighbours of element `i`.
    fn sum<T: Float>(&self, reach: usize, i: usize, f: impl Fn(usize) -> T) -> T {
        let c = i / self.step % self.channels;
        let (first, last) = (c.saturating_sub(reach), (c + reach).min(self.channels - 1));
        (first..=last).map(|other| f(i + other * self.step - c * self.step)).sum()
    }
}

struct Lrn;

impl OpDef for Lrn {
    sig! {
        "lrn": "Out = X / MidOut^beta, with MidOut = k + alpha * the sum of X^2 over neighbouring channels";
        in "X": "images of four sizes, f32 or f64";
        out "Out": "like `X`";
        out "MidOut": "like `X`";
        attr "n" = 5, "how many channels are neighbours, the element's own included; odd";
        attr "k" = 2.0f32, "the least divisor, before `beta`";
        attr "alpha" = 1e-4f32, "the weight of squares";
        attr "beta" = 0.75f32, "the exponent";
        attr "data_format" = "AnyLayout", "NCHW or NHWC";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Params::new(&cx.attrs())?;
        let x = cx.float("X")?;
        if x.shape.rank() != 4 {
            return Err(cx.shape_error(format_args!("needs images of four sizes, but has {}", cx.describe("X"))));
        }
        cx.set("Out", x.clone());
        cx.set("MidOut", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, mid, params) = (p.input("X")?, p.output("Out")?, p.output("MidOut")?, Params::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, (out, mid), &params)))
    }
}

fn forward<T: Float>(io: &Io<'_>, x: In, (out, mid): (Out, Out), params: &Params) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let layout = Layout::new(io, x, params, x_tensor.dims())?;
    let (mut out_tensor, mut mid_tensor) =
        (io.out_sized(out, T::DTYPE, *x_tensor.dims())?, io.out_sized(mid, T::DTYPE, *x_tensor.dims())?);
    let x = io.data::<T>(x, &x_tensor)?;
    let (k, alpha, beta) = (T::of(params.k.into()), T::of(params.alpha.into()), T::of(params.beta.into()));
    let outs = io.data_mut::<T>(out, &mut out_tensor)?.iter_mut().zip(io.data_mut::<T>(mid, &mut mid_tensor)?);
    for (i, (out, mid)) in outs.enumerate() {
        *mid = k + alpha * layout.sum(params.reach, i, |j| x[j] * x[j]);
        *out = x[i] * mid.powf(-beta);
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Lrn, "lrn_grad(X, Out, MidOut, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD / MidOut^beta - 2 alpha beta X * the sum of Out@GRAD * Out / MidOut over neighbours")
    .kernel(|p| {
        let inputs = [p.input("X")?, p.input("Out")?, p.input("MidOut")?, p.input("Out@GRAD")?];
        let (dx, params) = (p.output("X@GRAD")?, Params::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, dx, &params)))
    });

fn backward<T: Float>(io: &Io<'_>, [x, out, mid, dout]: [In; 4], dx: Out, params: &Params) -> Result<()> {
    let (x_tensor, out_tensor, mid_tensor, dout_tensor) =
        (io.dense(x)?, io.dense(out)?, io.dense(mid)?, io.dense(dout)?);
    let layout = Layout::new(io, x, params, x_tensor.dims())?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    let (xs, outs) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(out, &out_tensor)?);
    let (mids, d) = (io.data::<T>(mid, &mid_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    for (input, other) in [(out, outs), (mid, mids), (dout, d)] {
        oarlock_ops_support::class_axis::same_count(io, x, input, xs.len(), other.len())?;
    }
    let (alpha, beta) = (T::of(params.alpha.into()), T::of(params.beta.into()));
    for (i, dx) in io.data_mut::<T>(dx, &mut t)?.iter_mut().enumerate() {
        let shared = layout.sum(params.reach, i, |j| d[j] * outs[j] / mids[j]);
        *dx = d[i] * mids[i].powf(-beta) - T::of(2.0) * alpha * beta * xs[i] * shared;
    }
    Ok(())
}

#[test]
fn neighbours_divide() {
    use crate::testing::{check, noise, tensor};
    let case = |n: i32, beta: f32| check("lrn").attr("n", n).attr("k", 1.0f32).attr("alpha", 1.0f32).attr("beta", beta);
    case(3, 1.0)
        .input("X", tensor([1, 3, 1, 1], &[1.0, 2.0, 3.0]))
        .output("Out", tensor([1, 3, 1, 1], &[1.0 / 6.0, 2.0 / 15.0, 3.0 / 14.0]))
        .output("MidOut", tensor([1, 3, 1, 1], &[6.0, 15.0, 14.0]))
        .run();
    case(3, 0.75)
        .input("X", noise([2, 4, 1, 2], 1))
        .any_output("Out")
        .any_output("MidOut")
        .counting(&["Out"])
        .grad(&["X"])
        .run();
    let e = case(2, 1.0).input("X", noise([1, 3, 1, 1], 1)).any_output("Out").any_output("MidOut").error();
    assert!(e.contains("attribute `n` of `lrn` is 2; it must be odd"), "{e}");
}
