//! `softmax`: scores as probabilities, along one axis.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::class_axis::{Classes, infer_axis};
use oarlock_tensor::{Float, Lod, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&Softmax, &GRAD];

struct Softmax;

impl OpDef for Softmax {
    sig! {
        "softmax": "Out = exp(X - max) / sum of exp(X - max), along `axis`; exponents below -64 count as -64";
        in "X": "scores, f32 or f64";
        out "Out": "probabilities, like `X`";
        attr "axis" = -1, "the axis of the classes";
        hints ["data_format"];
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        infer_axis(cx, "X")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axis) = (p.input("X")?, p.output("Out")?, p.attrs().int("axis")?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Vec::new();
            kernel(move |io| {
                let mut t = io.update(x, out)?;
                let classes = Classes::of(io, x, t.dims(), axis)?;
                classes.softmax(io.data_mut::<T>(out, &mut t)?, &mut scratch);
                Ok(())
            })
        })
    }
}

const GRAD: GradOp = GradOp::of(&Softmax, "softmax_grad(Out, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out * (Out@GRAD - sum of Out * Out@GRAD along `axis`)")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .infer(|cx| cx.same("X@GRAD", "Out"))
    .kernel(|p| {
        let (y, dy, dx) = (p.input("Out")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let axis = p.attrs().int("axis")?;
        by_float!(p.float("Out")?, T => kernel(move |io| {
            let y_tensor = io.dense(y)?;
            let classes = Classes::of(io, y, y_tensor.dims(), axis)?;
            let y_data = io.data::<T>(y, &y_tensor)?;
            let mut t = io.update(dy, dx)?;
            oarlock_ops_support::class_axis::same_count(io, y, dy, y_data.len(), t.numel())?;
            t.set_lod(Lod::NONE);
            backward(classes, y_data, io.data_mut::<T>(dx, &mut t)?);
            Ok(())
        }))
    });

/// Turns the gradient of softmax `y` into that of its argument.
fn backward<T: Float>(classes: Classes, y: &[T], d: &mut [T]) {
    if classes.len == 0 {
        return;
    }
    if classes.inner == 1 {
        for (y, d) in y.chunks_exact(classes.len).zip(d.chunks_exact_mut(classes.len)) {
            let dot = simd::dot(y, d);
            d.iter_mut().zip(y).for_each(|(d, &y)| *d = y * (*d - dot));
        }
        return;
    }
    for row in 0..classes.rows() {
        let dot: T = classes.row(row).map(|i| y[i] * d[i]).sum();
        for i in classes.row(row) {
            d[i] = y[i] * (d[i] - dot);
        }
    }
}

#[test]
fn along_any_axis() {
    use crate::testing::{check, noise, tensor};
    check("softmax")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 0.5, 0.5, -99.0]))
        .output("Out", tensor([2, 3], &[0.09003057, 0.24472848, 0.66524094, 0.5, 0.5, 8.01905e-29]))
        .grad(&["X"])
        .run();
    check("softmax").input("X", noise([2, 3, 2], 1)).attr("axis", 1).any_output("Out").grad(&["X"]).run();
    let e = check("softmax").input("X", noise([2, 3], 1)).attr("axis", 2).any_output("Out").error();
    assert!(e.contains("`softmax` has axis 2, which `X` = X.0 f32[2, 3] does not have"), "{e}");
}
