//! `hinge_loss`: max(0, 1 - x * y) with labels 0 and 1 taken for y = -1 and 1.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&HingeLoss, &GRAD];

/// -1 for label 0, 1 for label 1.
fn sign<T: Float>(label: T) -> T {
    T::of(2.0) * label - T::ONE
}

struct HingeLoss;

impl OpDef for HingeLoss {
    sig! {
        "hinge_loss": "Loss = max(0, 1 - Logits * (2 * Labels - 1))";
        in "Logits": "scores";
        in "Labels": "0 or 1";
        out "Loss": "like the inputs";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "Logits", "Labels")?;
        cx.set("Loss", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("Logits")?, p.input("Labels")?];
        let out = p.output("Loss")?;
        by_float!(p.float("Logits")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[logits, labels]: [T; 2]| (T::ONE - logits * sign(labels)).max(T::ZERO))
        }))
    }
}

const GRAD: GradOp = GradOp::of(&HingeLoss, "hinge_loss_grad(Labels, Logits, Loss@GRAD) -> Logits@GRAD")
    .doc("Logits@GRAD = -Loss@GRAD * (2 * Labels - 1) where the loss is above 0, else 0")
    .kernel(|p| {
        let inputs = [p.input("Labels")?, p.input("Logits")?, p.input("Loss@GRAD")?];
        let out = p.output("Logits@GRAD")?;
        by_float!(p.float("Labels")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[labels, logits, d]: [T; 3]| if logits * sign(labels) < T::ONE { -d * sign(labels) } else { T::ZERO })
        }))
    });

#[test]
fn hinge_loss() {
    use crate::testing::{check, tensor};
    check("hinge_loss")
        .input("Logits", tensor([4, 1], &[0.5, 0.5, 2.0, -3.0]))
        .input("Labels", tensor([4, 1], &[1.0, 0.0, 1.0, 1.0]))
        .output("Loss", tensor([4, 1], &[0.5, 1.5, 0.0, 4.0]))
        .grad(&["Logits"])
        .run();
}
