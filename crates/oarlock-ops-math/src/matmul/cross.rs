//! `cross`: the vector product in space.

use oarlock_ir::{Dim, Error, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::int_list::axis_of;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Element, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Cross, &GRAD];

/// The value of `dim` that asks for the first axis of size 3.
const ANY_AXIS: i64 = 9;

struct Cross;

impl OpDef for Cross {
    sig! {
        "cross": "Out = X x Y, the vector product along an axis of size 3";
        in "X": "any tensor of numbers with an axis of size 3";
        in "Y": "like `X`";
        out "Out": "like `X`";
        attr "dim" = ANY_AXIS as i32, "the axis of size 3 along which vectors lie; 9 for the first such axis";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y, dim) = (cx.input("X")?, cx.input("Y")?, cx.attrs().int("dim")?);
        if x.shape.rank() != y.shape.rank() || !x.shape.iter().zip(y.shape.iter()).all(|(a, b)| a.fits(*b)) {
            let what = format!("needs {} and {} of one shape", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what));
        }
        let three = |d: &Dim| d.fits(Dim::Is(3));
        let found = match dim {
            ANY_AXIS => x.shape.iter().any(three),
            _ => axis_of(dim, x.shape.rank()).is_some_and(|axis| three(&x.shape[axis])),
        };
        if !found {
            return Err(cx.shape_error(format!("needs an axis of size 3 in {}, `dim` is {dim}", cx.describe("X"))));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, dim) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.attrs().int("dim")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let step = vectors(io, x, a.dims(), dim)?;
            check_dims(io, y, b.dims(), a.dims())?;
            let mut to = io.out_sized(out, T::DTYPE, *a.dims())?;
            to.set_lod(a.lod().clone());
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            products(a, b, io.data_mut::<T>(out, &mut to)?, step, |a, b, c, d| a.times(b).minus(c.times(d)));
            Ok(())
        }), other => fail!(Kind::DType, "`cross` works on f32, f64, i32 and i64, not on {other}"))
    }
}

/// How far the coordinates of a vector are apart.
fn vectors(io: &Io<'_>, x: In, dims: &Dims, dim: i64) -> Result<usize> {
    let axis = if dim == ANY_AXIS { dims.iter().position(|n| *n == 3) } else { axis_of(dim, dims.rank()) };
    match axis.filter(|axis| dims[*axis] == 3) {
        Some(axis) => Ok(dims.matrix(axis + 1).1),
        None => Err(io.error(Kind::Shape, x, format_args!("is {dims}: it has no axis of size 3 at {dim}"))),
    }
}

fn check_dims(io: &Io<'_>, slot: In, found: &Dims, needed: &Dims) -> Result<()> {
    let error = || -> Error { io.error(Kind::Shape, slot, format_args!("is {found}, but {needed} is needed")) };
    if found == needed { Ok(()) } else { Err(error()) }
}

/// Calls `f(a1, b2, a2, b1)` for each coordinate of out = a x b, where 1 and 2 are the coordinates after it.
fn products<T: Copy>(a: &[T], b: &[T], out: &mut [T], step: usize, f: impl Fn(T, T, T, T) -> T) {
    if step == 0 {
        return;
    }
    for start in (0..out.len()).step_by(3 * step) {
        for first in start..start + step {
            let at = |i: usize| first + i % 3 * step;
            for i in 0..3 {
                out[at(i)] = f(a[at(i + 1)], b[at(i + 2)], a[at(i + 2)], b[at(i + 1)]);
            }
        }
    }
}

const GRAD: GradOp = GradOp::of(&Cross, "cross_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Y x Out@GRAD and Y@GRAD = Out@GRAD x X")
    .kernel(|p| {
        let (x, y, dout, dim) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?, p.attrs().int("dim")?);
        let sides = [(y, dout, p.maybe_output("X@GRAD")?), (dout, x, p.maybe_output("Y@GRAD")?)];
        by_float!(p.float("X")?, T => kernel(move |io| {
            let dims = *io.dense(x)?.dims();
            let step = vectors(io, x, &dims, dim)?;
            for (a, b, out) in sides {
                let Some(out) = out else { continue };
                let (a_tensor, b_tensor) = (io.dense(a)?, io.dense(b)?);
                check_dims(io, a, a_tensor.dims(), &dims)?;
                check_dims(io, b, b_tensor.dims(), &dims)?;
                let mut to = io.out_sized(out, T::DTYPE, dims)?;
                let (a, b) = (io.data::<T>(a, &a_tensor)?, io.data::<T>(b, &b_tensor)?);
                products(a, b, io.data_mut::<T>(out, &mut to)?, step, product);
            }
            Ok(())
        }))
    });

fn product<T: Float>(a: T, b: T, c: T, d: T) -> T {
    a * b - c * d
}

#[test]
fn cross() {
    use crate::testing::{check, noise, tensor};
    check("cross")
        .input("X", tensor([1, 3], &[1.0, 2.0, 3.0]))
        .input("Y", tensor([1, 3], &[4.0, 5.0, 6.5]))
        .output("Out", tensor([1, 3], &[-2.0, 5.5, -3.0]))
        .grad(&["X", "Y"])
        .run();
    let along =
        |dim: i32| check("cross").input("X", noise([2, 3, 2], 1)).input("Y", noise([2, 3, 2], 2)).attr("dim", dim);
    along(-2).any_output("Out").grad(&["X", "Y"]).run();
    let wrong = along(0).any_output("Out").error();
    assert!(wrong.contains("`cross` needs an axis of size 3 in `X` = X.0 f32[2, 3, 2], `dim` is 0"), "{wrong}");
}
