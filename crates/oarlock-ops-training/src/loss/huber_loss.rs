//! `huber_loss`: half the square of a small error, linear in a large one.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&HuberLoss, &GRAD];

struct HuberLoss;

impl OpDef for HuberLoss {
    sig! {
        "huber_loss": "Out = r^2 / 2 where |r| <= delta, else delta * (|r| - delta / 2), with Residual r = Y - X";
        in "X": "predictions";
        in "Y": "labels";
        out "Residual": "Y - X";
        out "Out": "like the inputs";
        attr "delta": "where the loss becomes linear";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X", "Y")?;
        cx.set("Residual", ty.clone());
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("X")?, p.input("Y")?];
        let (side, out) = (p.output("Residual")?, p.output("Out")?);
        let delta = p.attrs().f32("delta")?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let delta = T::of(delta.into());
            equal_sizes::each(io, inputs, side, |[x, y]: [T; 2]| y - x)?;
            equal_sizes::each(io, inputs, out, |[x, y]: [T; 2]| {
                let r = (y - x).abs();
                if r <= delta { T::of(0.5) * r * r } else { delta * (r - T::of(0.5) * delta) }
            })
        }))
    }
}

const GRAD: GradOp = GradOp::of(&HuberLoss, "huber_loss_grad(Out@GRAD, Residual) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = -Out@GRAD * Residual cut off at delta; Y@GRAD = -X@GRAD")
    .infer(|cx| {
        cx.same("X@GRAD", "Residual")?;
        cx.same("Y@GRAD", "Residual")
    })
    .kernel(|p| {
        let inputs = [p.input("Residual")?, p.input("Out@GRAD")?];
        let (x_grad, y_grad) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        let delta = p.attrs().f32("delta")?;
        by_float!(p.float("Residual")?, T => kernel(move |io| {
            let delta = T::of(delta.into());
            if let Some(out) = x_grad {
                equal_sizes::each(io, inputs, out, |[residual, d]: [T; 2]| -d * residual.max(-delta).min(delta))?;
            }
            if let Some(out) = y_grad {
                equal_sizes::each(io, inputs, out, |[residual, d]: [T; 2]| d * residual.max(-delta).min(delta))?;
            }
            Ok(())
        }))
    });

#[test]
fn huber_loss() {
    use crate::testing::{check, tensor};
    check("huber_loss")
        .attr("delta", 1.0f32)
        .input("X", tensor([2, 1], &[0.5, 0.0]))
        .input("Y", tensor([2, 1], &[1.0, 3.0]))
        .output("Out", tensor([2, 1], &[0.125, 2.5]))
        .output("Residual", tensor([2, 1], &[0.5, 3.0]))
        .counting(&["Out"])
        .grad(&["X", "Y"])
        .run();
}
