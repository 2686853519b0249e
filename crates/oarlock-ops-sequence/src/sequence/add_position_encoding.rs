//! `add_position_encoding`: adds sines and cosines of the position in the sequence.

use oarlock_ir::{GradOp, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::lod_rows;
use oarlock_ops_support::pointwise;
use oarlock_tensor::{Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&AddPositionEncoding, &ADD_POSITION_ENCODING_GRAD];

struct AddPositionEncoding;

impl OpDef for AddPositionEncoding {
    sig! {
        "add_position_encoding":
            "Out = alpha X + beta (sin a, cos a), where the k-th of the h = D/2 angles at position p is p / 10000^(k / (h - 1)), \
             or p / 10000 if h is 1";
        in "X": "sequences x positions x D, or positions x D with LoD; D even";
        out "Out": "like `X`";
        attr "alpha" = 1.0f32, "factor of `X`";
        attr "beta" = 1.0f32, "factor of the encoding";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let even = x.shape.last().is_some_and(|d| d.known().is_none_or(|n| n % 2 == 0));
        if !(2..=3).contains(&x.shape.rank()) || !even {
            let what =
                format!("needs two or three dimensions with an even number of columns, but has {}", cx.describe("X"));
            return Err(cx.shape_error(what));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let (alpha, beta) = (p.attrs().f32("alpha")?, p.attrs().f32("beta")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let from = io.dense(x)?;
            let mut to = io.out_sized(out, from.dtype(), *from.dims())?;
            to.set_lod(from.lod().clone());
            let width = from.dims().last().copied().unwrap_or(0);
            if width == 0 || width % 2 != 0 {
                return Err(io.error(Kind::Shape, x, format_args!("is {}, but needs an even number of columns", from.dims())));
            }
            let (data, to) = (io.data::<T>(x, &from)?, io.data_mut::<T>(out, &mut to)?);
            let rows = data.chunks_exact(width).zip(to.chunks_exact_mut(width));
            each_position(io, x, &from, rows, |position, (from, to)| {
                encode(to, from, position, T::from(alpha), T::from(beta));
            })
        }))
    }
}

/// Visits rows together with their positions in their sequences.
fn each_position<R>(
    io: &Io<'_>,
    x: oarlock_ir::In,
    t: &Tensor,
    mut rows: impl Iterator<Item = R>,
    visit: impl Fn(usize, R),
) -> Result<()> {
    let mut all = |len: usize| (0..len).zip(&mut rows).for_each(|(position, row)| visit(position, row));
    match t.dims()[..] {
        [sequences, steps, _] => (0..sequences).for_each(|_| all(steps)),
        _ => lod_rows::offsets(io, x, t)?.windows(2).for_each(|w| all(w[1] - w[0])),
    }
    Ok(())
}

fn encode<T: Float>(to: &mut [T], from: &[T], position: usize, alpha: T, beta: T) {
    let half = from.len() / 2;
    let position = T::of(position as f64);
    for k in 0..half {
        // In the element type, as Fluid has it.
        let exponent = if half > 1 { T::of(k as f64) / T::of((half - 1) as f64) } else { T::ONE };
        let angle = position / T::of(10000.0).powf(exponent);
        to[k] = from[k] * alpha + angle.sin() * beta;
        to[half + k] = from[half + k] * alpha + angle.cos() * beta;
    }
}

const ADD_POSITION_ENCODING_GRAD: GradOp =
    GradOp::of(&AddPositionEncoding, "add_position_encoding_grad(Out@GRAD) -> X@GRAD")
        .doc("X@GRAD = alpha Out@GRAD")
        .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
        .infer(|cx| cx.same("X@GRAD", "Out@GRAD"))
        .kernel(|p| {
            let (dout, dx, alpha) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, p.attrs().f32("alpha")?);
            by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
                pointwise::map(io, dout, dx, |d: T| d * T::from(alpha))?;
                io.out(dx)?.set_lod(oarlock_tensor::Lod::NONE);
                Ok(())
            }))
        });

#[test]
fn add_position_encoding() {
    use crate::testing::{check, noise, tensor, with_lod};
    let (sin, cos) = (1f32.sin(), 1f32.cos());
    let (sin2, cos2) = (1e-4f32.sin(), 1e-4f32.cos());
    let out = [1.0, 2.0, 4.0, 5.0, 1.0 + sin, 2.0 + sin2, 3.0 + cos, 4.0 + cos2];
    let x = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0];
    check("add_position_encoding")
        .input("X", tensor([1, 2, 4], &x))
        .output("Out", tensor([1, 2, 4], &out))
        .grad(&["X"])
        .run();
    check("add_position_encoding")
        .input("X", with_lod(tensor([2, 4], &x), &[&[0, 2]]))
        .output("Out", with_lod(tensor([2, 4], &out), &[&[0, 2]]))
        .run();
    let scaled = check("add_position_encoding").input("X", noise([2, 2, 2], 1)).attr("alpha", 2.0f32);
    scaled.attr("beta", 3.0f32).any_output("Out").grad(&["X"]).run();
    let e = check("add_position_encoding").input("X", noise([1, 2, 3], 1)).any_output("Out").error();
    assert!(e.contains("needs two or three dimensions with an even number of columns"), "{e}");
}
