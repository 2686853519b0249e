//! `margin_rank_loss`: how far two scores miss their order by a margin.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&MarginRankLoss, &GRAD];

fn miss<T: Float>(x1: T, x2: T, label: T, margin: T) -> T {
    -label * (x1 - x2) + margin
}

struct MarginRankLoss;

impl OpDef for MarginRankLoss {
    sig! {
        "margin_rank_loss": "Out = max(0, -Label * (X1 - X2) + margin)";
        in "X1": "scores";
        in "X2": "scores";
        in "Label": "1 if `X1` ranks higher, -1 if `X2` does";
        out "Activated": "1 where `Out` is above 0, else 0";
        out "Out": "like the inputs";
        attr "margin" = 0.0f32, "how far scores should be apart";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X1", "X2")?;
        equal_sizes::infer_same(cx, "X1", "Label")?;
        cx.set("Activated", ty.clone());
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("X1")?, p.input("X2")?, p.input("Label")?];
        let (side, out) = (p.output("Activated")?, p.output("Out")?);
        let margin = p.attrs().f32("margin")?;
        by_float!(p.float("X1")?, T => kernel(move |io| {
            let margin = T::of(margin.into());
            equal_sizes::each(io, inputs, side, |[x1, x2, label]: [T; 3]| if miss(x1, x2, label, margin) > T::ZERO { T::ONE } else { T::ZERO })?;
            equal_sizes::each(io, inputs, out, |[x1, x2, label]: [T; 3]| miss(x1, x2, label, margin).max(T::ZERO))
        }))
    }
}

const GRAD: GradOp =
    GradOp::of(&MarginRankLoss, "margin_rank_loss_grad(Activated, Label, Out@GRAD) -> X1@GRAD, X2@GRAD")
        .doc("X1@GRAD = -Out@GRAD * Label * Activated; X2@GRAD = -X1@GRAD")
        .infer(|cx| {
            cx.same("X1@GRAD", "Activated")?;
            cx.same("X2@GRAD", "Activated")
        })
        .kernel(|p| {
            let inputs = [p.input("Activated")?, p.input("Label")?, p.input("Out@GRAD")?];
            let (x1_grad, x2_grad) = (p.maybe_output("X1@GRAD")?, p.maybe_output("X2@GRAD")?);
            by_float!(p.float("Activated")?, T => kernel(move |io| {
                if let Some(out) = x1_grad {
                    equal_sizes::each(io, inputs, out, |[activated, label, d]: [T; 3]| -d * label * activated)?;
                }
                if let Some(out) = x2_grad {
                    equal_sizes::each(io, inputs, out, |[activated, label, d]: [T; 3]| d * label * activated)?;
                }
                Ok(())
            }))
        });

#[test]
fn margin_rank_loss() {
    use crate::testing::{check, tensor};
    check("margin_rank_loss")
        .attr("margin", 0.5f32)
        .input("X1", tensor([2, 1], &[0.5, 2.0]))
        .input("X2", tensor([2, 1], &[0.25, 0.5]))
        .input("Label", tensor([2, 1], &[-1.0, 1.0]))
        .output("Out", tensor([2, 1], &[0.75, 0.0]))
        .output("Activated", tensor([2, 1], &[1.0, 0.0]))
        .counting(&["Out"])
        .grad(&["X1", "X2"])
        .run();
}
