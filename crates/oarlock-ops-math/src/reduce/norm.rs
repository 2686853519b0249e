//! `norm`: a tensor divided by its norm along one axis.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes};
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&Norm, &GRAD];

struct Norm;

impl OpDef for Norm {
    sig! {
        "norm": "Out = X / Norm, with Norm = sqrt(sum of X^2 along `axis` + epsilon)";
        in "X": "f32 or f64";
        out "Norm": "like `X`, of size 1 along `axis`";
        out "Out": "like `X`";
        attr "axis": "the axis to sum along";
        attr "epsilon" = 1e-10f32, "added to the sum of squares";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let mut shape = x.shape.clone();
        shape.0[class_axis::infer_axis(cx, "X")?] = Dim::Is(1);
        cx.set("Norm", x.clone().with_shape(shape));
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, norm, out) = (p.input("X")?, p.output("Norm")?, p.output("Out")?);
        let (axis, epsilon) = (p.attrs().int("axis")?, p.attrs().f32("epsilon")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, (norm, out), axis, T::of(epsilon.into()))))
    }
}

fn forward<T: Float>(io: &Io<'_>, x: In, (norm, out): (Out, Out), axis: i64, epsilon: T) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let lines = Classes::of(io, x, x_tensor.dims(), axis)?;
    let x = io.data::<T>(x, &x_tensor)?;
    let mut norm_tensor =
        io.out_sized(norm, T::DTYPE, class_axis::loss_dims(&x_tensor, axis, x_tensor.dims().rank()))?;
    let mut out_tensor = io.out_sized(out, T::DTYPE, *x_tensor.dims())?;
    out_tensor.set_lod(x_tensor.lod().clone());
    let out = io.data_mut::<T>(out, &mut out_tensor)?;
    for (line, norm) in io.data_mut::<T>(norm, &mut norm_tensor)?.iter_mut().enumerate() {
        let squares: T = lines.row(line).map(|i| x[i] * x[i]).sum();
        *norm = (squares + epsilon).sqrt();
        lines.row(line).for_each(|i| out[i] = x[i] / *norm);
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Norm, "norm_grad(X, Norm, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = (Out@GRAD - X * (sum of X * Out@GRAD along `axis`) / Norm^2) / Norm")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Norm")?, p.input("Out@GRAD")?);
        let (dx, axis) = (p.output("X@GRAD")?, p.attrs().int("axis")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, dx, axis)))
    });

fn backward<T: Float>(io: &Io<'_>, (x, norm, dout): (In, In, In), dx: Out, axis: i64) -> Result<()> {
    let (x_tensor, norm_tensor, dout_tensor) = (io.dense(x)?, io.dense(norm)?, io.dense(dout)?);
    let lines = Classes::of(io, x, x_tensor.dims(), axis)?;
    let (x_data, norms, d) =
        (io.data::<T>(x, &x_tensor)?, io.data::<T>(norm, &norm_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    class_axis::same_count(io, x, dout, x_data.len(), d.len())?;
    class_axis::same_count(io, x, norm, lines.rows(), norms.len())?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    for (line, &norm) in norms.iter().enumerate() {
        let dot: T = lines.row(line).map(|i| x_data[i] * d[i]).sum();
        lines.row(line).for_each(|i| dx[i] = (d[i] - x_data[i] * dot / (norm * norm)) / norm);
    }
    Ok(())
}

#[test]
fn along_any_axis() {
    use crate::testing::{check, tensor};
    check("norm")
        .attr("axis", 0)
        .input("X", tensor([2, 2], &[3.0, 1.0, -4.0, 0.0]))
        .output("Norm", tensor([1, 2], &[5.0, 1.0]))
        .output("Out", tensor([2, 2], &[0.6, 1.0, -0.8, 0.0]))
        .counting(&["Out"])
        .grad(&["X"])
        .run();
    check("norm")
        .attr("axis", -1)
        .input("X", tensor([1, 2], &[3.0, -4.0]))
        .output("Norm", tensor([1, 1], &[5.0]))
        .output("Out", tensor([1, 2], &[0.6, -0.8]))
        .run();
}
