//! `fsp`: how the channels of two images go together, for distillation.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType, by_float, kernel, sig};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Fsp, &GRAD];

struct Fsp;

impl OpDef for Fsp {
    sig! {
        "fsp": "Out[n, i, j] = mean over pixels of X[n, i] * Y[n, j]";
        in "X": "[n, channels, h, w], f32 or f64";
        in "Y": "[n, other channels, h, w]";
        out "Out": "[n, channels, other channels]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        match (&x.shape[..], &y.shape[..]) {
            ([n, c, h, w], [m, d, g, v]) if n.fits(*m) && h.fits(*g) && w.fits(*v) => {
                cx.set("Out", VarType::tensor(x.dtype, vec![n.or(*m), *c, *d]));
                Ok(())
            }
            _ => {
                let what = format_args!("cannot compare {} with {}", cx.describe("X"), cx.describe("Y"));
                Err(cx.shape_error(what).help("images may differ in the number of channels only"))
            }
        }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("Y")?), p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, out)))
    }
}

/// Images, channels of X, channels of Y, pixels.
fn sizes(io: &Io<'_>, y: In, x_tensor: &Tensor, y_tensor: &Tensor) -> Result<[usize; 4]> {
    match (&x_tensor.dims()[..], &y_tensor.dims()[..]) {
        ([n, c, h, w], [m, d, g, v]) if n == m && h == g && w == v => Ok([*n, *c, *d, h * w]),
        _ => {
            let what = format_args!("has sizes {}, which do not fit {}", y_tensor.dims(), x_tensor.dims());
            Err(io.error(Kind::Shape, y, what))
        }
    }
}

fn forward<T: GemmElem>(io: &Io<'_>, (x, y): (In, In), out: Out) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    let [n, c, d, pixels] = sizes(io, y, &x_tensor, &y_tensor)?;
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([n, c, d]))?;
    let (x, y, out) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?, io.data_mut::<T>(out, &mut t)?);
    let share = T::ONE / T::of(pixels.max(1) as f64);
    for i in 0..n {
        let (x, y) = (Mat::new(&x[i * c * pixels..], c, pixels), Mat::new(&y[i * d * pixels..], d, pixels));
        gemm(io.pool(), &mut out[i * c * d..][..c * d], x, y.t(), share, T::ZERO);
    }
    Ok(())
}

const GRAD: GradOp =
    GradOp::of(&Fsp, "fsp_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD").doc("gradients of `fsp`").kernel(|p| {
        let inputs = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs)))
    });

fn backward<T: GemmElem>(io: &Io<'_>, (x, y, dout): (In, In, In), (dx, dy): (Option<Out>, Option<Out>)) -> Result<()> {
    let (x_tensor, y_tensor, dout_tensor) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
    let [n, c, d, pixels] = sizes(io, y, &x_tensor, &y_tensor)?;
    if dout_tensor.dims()[..] != [n, c, d] {
        return Err(io.error(Kind::Shape, dout, format_args!("has sizes {}, not [{n}, {c}, {d}]", dout_tensor.dims())));
    }
    let douts = io.data::<T>(dout, &dout_tensor)?;
    let share = T::ONE / T::of(pixels.max(1) as f64);
    let left = |i: usize| Mat::new(&douts[i * c * d..], c, d);
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        let (dx, y) = (io.data_mut::<T>(dx, &mut t)?, io.data::<T>(y, &y_tensor)?);
        for (i, dx) in dx.chunks_exact_mut((c * pixels).max(1)).enumerate() {
            gemm(io.pool(), dx, left(i), Mat::new(&y[i * d * pixels..], d, pixels), share, T::ZERO);
        }
    }
    if let Some(dy) = dy {
        let mut t = io.out_sized(dy, T::DTYPE, *y_tensor.dims())?;
        let (dy, x) = (io.data_mut::<T>(dy, &mut t)?, io.data::<T>(x, &x_tensor)?);
        for (i, dy) in dy.chunks_exact_mut((d * pixels).max(1)).enumerate() {
            gemm(io.pool(), dy, left(i).t(), Mat::new(&x[i * c * pixels..], c, pixels), share, T::ZERO);
        }
    }
    Ok(())
}

#[test]
fn channels_together() {
    use crate::testing::{check, noise, tensor};
    let (x, y) = (tensor([1, 1, 1, 2], &[1.0, 2.0]), tensor([1, 2, 1, 2], &[3.0, 4.0, 0.0, 1.0]));
    check("fsp").input("X", x).input("Y", y).output("Out", tensor([1, 1, 2], &[5.5, 1.0])).run();
    let case = check("fsp").input("X", noise([2, 2, 3, 2], 1)).input("Y", noise([2, 3, 3, 2], 2)).any_output("Out");
    case.grad(&["X", "Y"]).run();
    let e =
        check("fsp").input("X", noise([2, 2, 3, 2], 1)).input("Y", noise([2, 2, 2, 3], 2)).any_output("Out").error();
    assert!(e.contains("`fsp` cannot compare `X` = X.0 f32[2, 2, 3, 2] with `Y` = Y.0 f32[2, 2, 2, 3]"), "{e}");
}
