//! `conv_shift`: circular convolution of rows.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::{Element, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&ConvShift, &GRAD];

struct ConvShift;

impl OpDef for ConvShift {
    sig! {
        "conv_shift": "Out[b, i] = sum over j of X[b, i + j - n / 2] * Y[b, j], going round at the ends";
        in "X": "[batch, m], f32 or f64";
        in "Y": "[batch, n] with n odd and at most m";
        out "Out": "like `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        let fits = |y: &[Dim], x: &[Dim]| match (y, x) {
            ([b, n], [a, m]) => {
                let odd = n.known().is_none_or(|n| n % 2 == 1);
                a.fits(*b) && odd && n.known().zip(m.known()).is_none_or(|(n, m)| n <= m)
            }
            _ => false,
        };
        if !fits(&y.shape, &x.shape) {
            let what = format_args!("cannot shift {} by {}", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what).help("Y has as many rows as X, of an odd width that is not larger"));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
            let widths = widths(io, y, &x_tensor, &y_tensor)?;
            let mut t = io.out_sized(out, T::DTYPE, *x_tensor.dims())?;
            t.set_lod(x_tensor.lod().clone());
            let (x, y) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
            let out = io.data_mut::<T>(out, &mut t)?;
            out.fill(T::ZERO);
            each(widths, x.len(), |to, from, by| out[to] += x[from] * y[by]);
            Ok(())
        }))
    }
}

/// The widths of X and Y.
fn widths(io: &Io<'_>, y: In, x_tensor: &Tensor, y_tensor: &Tensor) -> Result<(usize, usize)> {
    match (&x_tensor.dims()[..], &y_tensor.dims()[..]) {
        ([a, m], [b, n]) if a == b && n % 2 == 1 && n <= m => Ok((*m, *n)),
        _ => {
            let what = format_args!("has sizes {}, which do not suit rows of {}", y_tensor.dims(), x_tensor.dims());
            Err(io.error(Kind::Shape, y, what))
        }
    }
}

/// Calls `f` for every product: where it is added, its element of X, its element of Y.
fn each((m, n): (usize, usize), len: usize, mut f: impl FnMut(usize, usize, usize)) {
    for to in 0..len {
        let (row, i) = (to / m, to % m);
        for j in 0..n {
            f(to, row * m + (i + j + m - n / 2) % m, row * n + j);
        }
    }
}

const GRAD: GradOp = GradOp::of(&ConvShift, "conv_shift_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("gradients of `conv_shift`")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs)))
    });

fn backward<T: Float>(io: &Io<'_>, (x, y, dout): (In, In, In), (dx, dy): (Option<Out>, Option<Out>)) -> Result<()> {
    let (x_tensor, y_tensor, dout_tensor) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
    let widths = widths(io, y, &x_tensor, &y_tensor)?;
    let (xs, ys, d) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, x, dout, xs.len(), d.len())?;
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        t.set_lod(x_tensor.lod().clone());
        let dx = io.data_mut::<T>(dx, &mut t)?;
        dx.fill(T::ZERO);
        each(widths, xs.len(), |to, from, by| dx[from] += d[to] * ys[by]);
    }
    if let Some(dy) = dy {
        let mut t = io.out_sized(dy, T::DTYPE, *y_tensor.dims())?;
        let dy = io.data_mut::<T>(dy, &mut t)?;
        dy.fill(T::ZERO);
        each(widths, xs.len(), |to, from, by| dy[by] += d[to] * xs[from]);
    }
    Ok(())
}

#[test]
fn rows_go_round() {
    use crate::testing::{check, noise, tensor};
    let x = || tensor([1, 4], &[1.0, 2.0, 3.0, 4.0]);
    let case = check("conv_shift").input("X", x()).input("Y", tensor([1, 3], &[1.0, 0.0, 10.0]));
    case.output("Out", tensor([1, 4], &[24.0, 31.0, 42.0, 13.0])).grad(&["X", "Y"]).run();
    let e = check("conv_shift").input("X", x()).input("Y", noise([1, 2], 1)).any_output("Out").error();
    assert!(e.contains("`conv_shift` cannot shift `X` = X.0 f32[1, 4] by `Y` = Y.0 f32[1, 2]"), "{e}");
}
