//! `smooth_l1_loss`: the sum over a row of errors, squared where they are small.

use oarlock_ir::{Grad, GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, by_float, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes::{self, Together};
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&SmoothL1Loss, &SMOOTH_L1_LOSS_GRAD];

fn attrs(sig: Sig) -> Sig {
    sig.attr("sigma", 1.0f32, "errors below 1 / sigma^2 are small")
}

fn weights(sig: Sig) -> Sig {
    sig.optional_input("InsideWeight", "multiplies errors, like `X`")
        .optional_input("OutsideWeight", "multiplies losses of elements, like `X`")
}

struct SmoothL1Loss;

impl OpDef for SmoothL1Loss {
    fn sig(&self) -> Sig {
        let doc = "Out = sum over a row of OutsideWeight * s(Diff), with Diff = InsideWeight * (X - Y) and s(d) = (sigma d)^2 / 2 \
                   where |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)";
        let sig = Sig::new("smooth_l1_loss", doc).input("X", "predictions [n, ...]").input("Y", "labels, like `X`");
        attrs(weights(sig).output("Diff", "like `X`").output("Out", "[n, 1]"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = equal_sizes::infer_same(cx, "X", "Y")?;
        for slot in ["InsideWeight", "OutsideWeight"].into_iter().filter(|s| cx.has(s)) {
            equal_sizes::infer_same(cx, "X", slot)?;
        }
        cx.set("Out", equal_sizes::infer_rows(&x));
        cx.set("Diff", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, weights) = ([p.input("X")?, p.input("Y")?], Weights::new(p)?);
        let (diff, out, sigma) = (p.output("Diff")?, p.output("Out")?, p.attrs().f32("sigma")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let small = T::ONE / T::of((sigma * sigma).into());
            differences::<T>(io, inputs, weights, diff)?;
            let loss = |d: T| if d.abs() < small { T::of(0.5) * d * d / small } else { d.abs() - T::of(0.5) * small };
            row_sums(io, diff, weights.outside, out, loss)
        }))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Diff", "InsideWeight", "Out@GRAD", "OutsideWeight"];
        g.emit("smooth_l1_loss_grad", &reads, &["X@GRAD", "Y@GRAD"])
    }
}

#[derive(Debug, Clone, Copy)]
struct Weights {
    inside: Option<In>,
    outside: Option<In>,
}

impl Weights {
    fn new(p: &Prepare<'_>) -> Result<Weights> {
        Ok(Weights { inside: p.maybe_input("InsideWeight")?, outside: p.maybe_input("OutsideWeight")? })
    }
}

fn differences<T: Float>(io: &Io<'_>, [x, y]: [In; 2], weights: Weights, diff: Out) -> Result<()> {
    match weights.inside {
        Some(w) => equal_sizes::each(io, [x, y, w], diff, |[x, y, w]: [T; 3]| w * (x - y)),
        None => equal_sizes::each(io, [x, y], diff, |[x, y]: [T; 2]| x - y),
    }
}

/// Sums f(diff), weighted, over each row.
fn row_sums<T: Float>(io: &Io<'_>, diff: Out, weight: Option<In>, out: Out, f: impl Fn(T) -> T) -> Result<()> {
    // Just written, now read.
    let diff = In(diff.0);
    let together = Together::new(io, [diff, weight.unwrap_or(diff)])?;
    let [d, w] = together.data::<T>(io)?;
    let (rows, width) = together.first().dims().matrix(1);
    equal_sizes::column(io, out, rows, |row| {
        let part = row * width..(row + 1) * width;
        let weigh = |(d, w): (&T, &T)| if weight.is_some() { f(*d) * *w } else { f(*d) };
        d[part.clone()].iter().zip(&w[part]).map(weigh).sum::<T>()
    })
}

const SMOOTH_L1_LOSS_GRAD: GradOp =
    GradOp::of(&SmoothL1Loss, "smooth_l1_loss_grad(Diff, InsideWeight, OutsideWeight, Out@GRAD) -> X@GRAD, Y@GRAD")
        .doc("X@GRAD = Out@GRAD * OutsideWeight * InsideWeight * s'(Diff); Y@GRAD = -X@GRAD")
        .infer(|cx| {
            cx.same("X@GRAD", "Diff")?;
            cx.same("Y@GRAD", "Diff")
        })
        .kernel(|p| {
            let (diff, dout, weights) = (p.input("Diff")?, p.input("Out@GRAD")?, Weights::new(p)?);
            let (dx, dy, sigma) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?, p.attrs().f32("sigma")?);
            by_float!(p.float("Diff")?, T => kernel(move |io| {
                let small = T::ONE / T::of((sigma * sigma).into());
                let slope = |d: T| if d.abs() < small { d / small } else { oarlock_ops_support::pointwise::sign(d) };
                for (out, sign) in [(dx, T::ONE), (dy, -T::ONE)] {
                    if let Some(out) = out {
                        backward(io, (diff, dout), weights, out, |d: T| sign * slope(d))?;
                    }
                }
                Ok(())
            }))
        });

fn backward<T: Float>(
    io: &Io<'_>,
    (diff, dout): (In, In),
    weights: Weights,
    out: Out,
    slope: impl Fn(T) -> T,
) -> Result<()> {
    let together = Together::new(io, [diff, weights.inside.unwrap_or(diff), weights.outside.unwrap_or(diff)])?;
    let [diff, inside, outside] = together.data::<T>(io)?;
    let (rows, width) = together.first().dims().matrix(1);
    let dout_tensor = io.dense(dout)?;
    let d = io.data::<T>(dout, &dout_tensor)?;
    checks::expect_elements(io, dout, d.len(), rows)?;
    let mut t = io.out_sized(out, T::DTYPE, *together.first().dims())?;
    t.set_lod(together.first().lod().clone());
    for (i, out) in io.data_mut::<T>(out, &mut t)?.iter_mut().enumerate() {
        let inside = if weights.inside.is_some() { inside[i] } else { T::ONE };
        let outside = if weights.outside.is_some() { outside[i] } else { T::ONE };
        *out = d[i / width] * outside * inside * slope(diff[i]);
    }
    Ok(())
}

#[test]
fn smooth_l1_loss() {
    use crate::testing::{check, tensor};
    check("smooth_l1_loss")
        .input("X", tensor([2, 2], &[0.5, 2.0, -1.5, 0.25]))
        .input("Y", tensor([2, 2], &[0.0, 0.0, 0.5, 0.25]))
        .output("Diff", tensor([2, 2], &[0.5, 2.0, -2.0, 0.0]))
        .output("Out", tensor([2, 1], &[1.625, 1.5]))
        .counting(&["Out"])
        .grad(&["X", "Y"])
        .run();
    check("smooth_l1_loss")
        .attr("sigma", 2.0f32)
        .input("X", tensor([1, 2], &[0.25, 2.0]))
        .input("Y", tensor([1, 2], &[0.0, 0.0]))
        .input("InsideWeight", tensor([1, 2], &[0.5, 1.0]))
        .input("OutsideWeight", tensor([1, 2], &[2.0, 1.0]))
        .output("Diff", tensor([1, 2], &[0.125, 2.0]))
        .output("Out", tensor([1, 1], &[1.9375]))
        .counting(&["Out"])
        .grad(&["X", "Y"])
        .run();
}
