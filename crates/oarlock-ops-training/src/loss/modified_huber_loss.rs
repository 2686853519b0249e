//! `modified_huber_loss`: a loss of binary labels that is quadratic near the boundary and linear far on the wrong side.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&ModifiedHuberLoss, &GRAD];

struct ModifiedHuberLoss;

impl OpDef for ModifiedHuberLoss {
    sig! {
        "modified_huber_loss": "Out = -4 v where v < -1, (1 - v)^2 where v < 1, else 0, with v = X * (2 * Y - 1)";
        in "X": "scores";
        in "Y": "0 or 1";
        out "IntermediateVal": "v";
        out "Out": "like the inputs";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X", "Y")?;
        cx.set("IntermediateVal", ty.clone());
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("X")?, p.input("Y")?];
        let (side, out) = (p.output("IntermediateVal")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, side, |[x, y]: [T; 2]| x * (T::of(2.0) * y - T::ONE))?;
            equal_sizes::each(io, inputs, out, |[x, y]: [T; 2]| {
                let v = x * (T::of(2.0) * y - T::ONE);
                if v < -T::ONE {
                    T::of(-4.0) * v
                } else if v < T::ONE {
                    (T::ONE - v) * (T::ONE - v)
                } else {
                    T::ZERO
                }
            })
        }))
    }
}

const GRAD: GradOp = GradOp::of(&ModifiedHuberLoss, "modified_huber_loss_grad(IntermediateVal, Out@GRAD, Y) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD * (2 * Y - 1) * slope, with slope -4 where v < -1, -2 (1 - v) where v < 1, else 0")
    .infer(|cx| cx.same("X@GRAD", "IntermediateVal"))
    .kernel(|p| {
        let inputs = [p.input("IntermediateVal")?, p.input("Y")?, p.input("Out@GRAD")?];
        let out = p.output("X@GRAD")?;
        by_float!(p.float("IntermediateVal")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[v, y, d]: [T; 3]| {
                let slope = if v < -T::ONE {
                    T::of(-4.0)
                } else if v < T::ONE {
                    T::of(-2.0) * (T::ONE - v)
                } else {
                    T::ZERO
                };
                d * slope * (T::of(2.0) * y - T::ONE)
            })
        }))
    });

#[test]
fn modified_huber_loss() {
    use crate::testing::{check, tensor};
    check("modified_huber_loss")
        .input("X", tensor([3, 1], &[0.5, 2.0, 3.0]))
        .input("Y", tensor([3, 1], &[1.0, 0.0, 1.0]))
        .output("Out", tensor([3, 1], &[0.25, 8.0, 0.0]))
        .output("IntermediateVal", tensor([3, 1], &[0.5, -2.0, 3.0]))
        .counting(&["Out"])
        .grad(&["X"])
        .run();
}
