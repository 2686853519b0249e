//! `dist`: the distance of two tensors.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, VarType};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::broadcast::spread;
use oarlock_ops_support::broadcast::{self, Spread};
use oarlock_tensor::{Dims, Element, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Dist, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr(
        "p",
        2.0f32,
        "which norm; 0 counts what differs, infinity takes the greatest difference, -infinity the least",
    )
}

struct Dist;

impl OpDef for Dist {
    sig! {
        "dist": "Out = the p-norm of X - Y";
        in "X": "f32 or f64";
        in "Y": "of the same dtype; sizes are equal or 1";
        out "Out": "[1]";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        if broadcast::infer(&x.shape, &y.shape, -1).is_none() {
            return Err(cx.shape_error(format!("cannot broadcast {} and {}", cx.describe("X"), cx.describe("Y"))));
        }
        cx.set("Out", VarType::tensor(x.dtype, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, norm) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.attrs().f32("p")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let s = spread(io, x, a.dims(), y, b.dims(), -1)?;
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            let distance = distance(&s, a, b, T::of(norm.into()));
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([1]))?;
            io.data_mut::<T>(out, &mut to)?.fill(distance);
            Ok(())
        }))
    }
}

/// Calls `f` with the places in X and in Y of each difference.
fn each(s: &Spread, mut f: impl FnMut(usize, usize)) {
    s.runs(|_, i, j| {
        for k in 0..s.run {
            f(if s.x_moves { i + k } else { i }, if s.y_moves { j + k } else { j });
        }
    });
}

fn distance<T: Float>(s: &Spread, x: &[T], y: &[T], p: T) -> T {
    let mut sum = if p < T::ZERO && !p.is_finite() { T::INFINITY } else { T::ZERO };
    each(s, |i, j| {
        let difference = (x[i] - y[j]).abs();
        sum = if p == T::INFINITY {
            sum.max(difference)
        } else if !p.is_finite() {
            sum.min(difference)
        } else if p == T::ZERO {
            sum + if difference > T::ZERO { T::ONE } else { T::ZERO }
        } else {
            sum + difference.powf(p)
        };
    });
    if p.is_finite() && p != T::ZERO { sum.powf(T::ONE / p) } else { sum }
}

const GRAD: GradOp = GradOp::of(&Dist, "dist_grad(X, Y, Out, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD times the derivative of the norm by X - Y; Y@GRAD the negative")
    .kernel(|p| {
        let slots = (p.input("X")?, p.input("Y")?);
        let (norm, dout) = (p.input("Out")?, p.input("Out@GRAD")?);
        let (dx, dy, power) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?, p.attrs().f32("p")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let slope = Slope { p: T::of(power.into()), norm: T::of(io.scalar(norm)?), d: T::of(io.scalar(dout)?) };
            if let Some(out) = dx {
                slope.write(io, slots, out, T::ONE, |i, _| i)?;
            }
            if let Some(out) = dy {
                slope.write(io, slots, out, -T::ONE, |_, j| j)?;
            }
            Ok(())
        }))
    });

/// The derivative of the norm.
struct Slope<T> {
    p: T,
    norm: T,
    d: T,
}

impl<T: Float> Slope<T> {
    /// By one difference.
    fn at(&self, difference: T) -> T {
        let (p, size) = (self.p, difference.abs());
        if difference == T::ZERO || p == T::ZERO {
            return T::ZERO;
        }
        let sign = if difference > T::ZERO { T::ONE } else { -T::ONE };
        if !p.is_finite() {
            return if size == self.norm { sign * self.d } else { T::ZERO };
        }
        sign * self.d * (size / self.norm).powf(p - T::ONE)
    }

    /// Writes the gradient of the tensor that `own` chooses, with that sign.
    fn write(
        &self,
        io: &Io<'_>,
        (x, y): (In, In),
        out: Out,
        sign: T,
        own: impl Fn(usize, usize) -> usize,
    ) -> Result<()> {
        let (a, b) = (io.dense(x)?, io.dense(y)?);
        let s = spread(io, x, a.dims(), y, b.dims(), -1)?;
        let dims = if sign > T::ZERO { *a.dims() } else { *b.dims() };
        let mut to = io.out_sized(out, T::DTYPE, dims)?;
        let (a, b, to) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?, io.data_mut::<T>(out, &mut to)?);
        to.fill(T::ZERO);
        each(&s, |i, j| to[own(i, j)] += sign * self.at(a[i] - b[j]));
        Ok(())
    }
}

#[test]
fn dist() {
    use crate::testing::{check, noise, tensor};
    let dist =
        |p: f32| check("dist").input("X", tensor([2], &[1.0, 5.0])).input("Y", tensor([2], &[4.0, 1.0])).attr("p", p);
    for (p, expected) in [(2.0, 5.0), (1.0, 7.0), (f32::INFINITY, 4.0), (f32::NEG_INFINITY, 3.0)] {
        dist(p).output("Out", tensor([1], &[expected])).grad(&["X", "Y"]).run();
    }
    dist(0.0).output("Out", tensor([1], &[2.0])).run();
    check("dist")
        .input("X", noise([3, 2], 1))
        .input("Y", noise([3, 1], 2))
        .attr("p", 3.0f32)
        .any_output("Out")
        .grad(&["X", "Y"])
        .run();
    let wrong = check("dist").input("X", noise([3], 1)).input("Y", noise([2], 2)).any_output("Out").error();
    assert!(wrong.contains("`dist` cannot broadcast `X` = X.0 f32[3] and `Y` = Y.0 f32[2]"), "{wrong}");
}
