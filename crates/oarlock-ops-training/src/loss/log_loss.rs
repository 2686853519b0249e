//! `log_loss`: the negative log-likelihood of binary labels.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&LogLoss, &GRAD];

struct LogLoss;

impl OpDef for LogLoss {
    sig! {
        "log_loss": "Loss = -Labels * ln(Predicted + epsilon) - (1 - Labels) * ln(1 - Predicted + epsilon)";
        in "Predicted": "probabilities";
        in "Labels": "0 or 1";
        out "Loss": "like the inputs";
        attr "epsilon": "added to arguments of logarithms";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "Predicted", "Labels")?;
        cx.set("Loss", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("Predicted")?, p.input("Labels")?];
        let out = p.output("Loss")?;
        let epsilon = p.attrs().f32("epsilon")?;
        by_float!(p.float("Predicted")?, T => kernel(move |io| {
            let epsilon = T::of(epsilon.into());
            equal_sizes::each(io, inputs, out, |[predicted, labels]: [T; 2]| -labels * (predicted + epsilon).ln() - (T::ONE - labels) * (T::ONE - predicted + epsilon).ln())
        }))
    }
}

const GRAD: GradOp = GradOp::of(&LogLoss, "log_loss_grad(Labels, Loss@GRAD, Predicted) -> Predicted@GRAD")
    .doc("Predicted@GRAD = Loss@GRAD * ((1 - Labels) / (1 - Predicted + epsilon) - Labels / (Predicted + epsilon))")
    .kernel(|p| {
        let inputs = [p.input("Labels")?, p.input("Predicted")?, p.input("Loss@GRAD")?];
        let out = p.output("Predicted@GRAD")?;
        let epsilon = p.attrs().f32("epsilon")?;
        by_float!(p.float("Labels")?, T => kernel(move |io| {
            let epsilon = T::of(epsilon.into());
            equal_sizes::each(io, inputs, out, |[labels, predicted, d]: [T; 3]| d * ((T::ONE - labels) / (T::ONE - predicted + epsilon) - labels / (predicted + epsilon)))
        }))
    });

#[test]
fn log_loss() {
    use crate::testing::{check, tensor};
    check("log_loss")
        .attr("epsilon", 0.0f32)
        .input("Predicted", tensor([2, 1], &[0.25, 0.75]))
        .input("Labels", tensor([2, 1], &[1.0, 0.0]))
        .output("Loss", tensor([2, 1], &[1.3862944, 1.3862944]))
        .grad(&["Predicted"])
        .run();
}
