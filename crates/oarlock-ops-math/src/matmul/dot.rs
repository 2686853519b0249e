//! `dot`: products of vectors, along the last axis.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, fail, kernel, sig};
use oarlock_ops_support::checks::sized;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Dot, &GRAD];

struct Dot;

impl OpDef for Dot {
    sig! {
        "dot": "Out = sum of X * Y along the last axis";
        in "X": "numbers, [n] or [batch, n]";
        in "Y": "of the same dtype and shape";
        out "Out": "[1] or [batch, 1]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.input("X")?, cx.input("Y")?);
        let fits = x.shape.rank() == y.shape.rank() && x.shape.iter().zip(y.shape.iter()).all(|(a, b)| a.fits(*b));
        if !fits || !(1..=2).contains(&x.shape.rank()) {
            let what = format!("needs vectors of one shape, but has {} and {}", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what));
        }
        let mut out: Vec<Dim> = x.shape.iter().zip(y.shape.iter()).map(|(a, b)| a.or(*b)).collect();
        out.pop();
        out.push(Dim::Is(1));
        cx.set("Out", x.with_shape(out));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let (width, dims) = sizes(io, x, &a, y, &b)?;
            let mut to = io.out_sized(out, a.dtype(), dims)?;
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            for (i, o) in io.data_mut::<T>(out, &mut to)?.iter_mut().enumerate() {
                let pairs = a[i * width..][..width].iter().zip(&b[i * width..][..width]);
                *o = pairs.fold(T::ZERO, |sum, (a, b)| sum.plus(a.times(*b)));
            }
            Ok(())
        }), other => fail!(Kind::DType, "`dot` works on f32, f64, i32 and i64, not on {other}"))
    }
}

/// The length of the vectors, and the shape of the result.
fn sizes(io: &Io<'_>, x: In, x_tensor: &Tensor, y: In, y_tensor: &Tensor) -> Result<(usize, Dims)> {
    let mut dims = *x_tensor.dims();
    match dims.last_mut() {
        Some(last) if x_tensor.dims() == y_tensor.dims() => {
            let width = std::mem::replace(last, 1);
            Ok((width, dims))
        }
        _ => {
            let what = format_args!("is {dims}, but {} is {}", io.describe(y), y_tensor.dims());
            Err(io.error(Kind::Shape, x, what))
        }
    }
}

const GRAD: GradOp = GradOp::of(&Dot, "dot_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD * Y and Y@GRAD = Out@GRAD * X")
    .kernel(|p| {
        let (x, y, dout) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let (dx, dy) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let (width, dims) = sizes(io, x, &a, y, &b)?;
            let d = sized::<T>(io, dout, &d, dims.numel())?;
            times_rows(io, y, &b, d, width, dx)?;
            times_rows(io, x, &a, d, width, dy)
        }), other => fail!(Kind::DType, "`dot_grad` works on f32, f64, i32 and i64, not on {other}"))
    });

/// Each row of `other` times its factor, if there is an output for it.
fn times_rows<T: Number>(io: &Io<'_>, slot: In, other: &Tensor, d: &[T], width: usize, to: Option<Out>) -> Result<()> {
    let Some(out) = to else { return Ok(()) };
    let mut to = io.out_sized(out, T::DTYPE, *other.dims())?;
    let rows = io.data::<T>(slot, other)?.chunks_exact(width.max(1));
    for ((to, row), d) in io.data_mut::<T>(out, &mut to)?.chunks_exact_mut(width.max(1)).zip(rows).zip(d) {
        to.iter_mut().zip(row).for_each(|(t, v)| *t = v.times(*d));
    }
    Ok(())
}

#[test]
fn dot() {
    use crate::testing::{check, tensor, tensor_of};
    check("dot")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Y", tensor([2, 2], &[1.0, 10.0, 1.0, 10.0]))
        .output("Out", tensor([2, 1], &[21.0, 43.0]))
        .grad(&["X", "Y"])
        .run();
    check("dot")
        .input("X", tensor_of::<i64>([3], &[1, 2, 3]))
        .input("Y", tensor_of::<i64>([3], &[4, 5, 6]))
        .output("Out", tensor_of::<i64>([1], &[32]))
        .run();
}
