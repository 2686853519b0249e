//! `bce_loss`: binary cross entropy of probabilities.

use oarlock_ir::{GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&BceLoss, &GRAD];

/// The least logarithm that counts, so that a certain mistake costs much but not infinitely much.
const LEAST_LN: f64 = -100.0;

struct BceLoss;

impl OpDef for BceLoss {
    sig! {
        "bce_loss": "Out = -Label * ln(X) - (1 - Label) * ln(1 - X), logarithms at least -100";
        in "X": "probabilities";
        in "Label": "like `X`, in [0, 1]";
        out "Out": "like `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X", "Label")?;
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, out) = (p.input("X")?, p.input("Label")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let from = io.dense(x)?;
            // Not `v < 0 || v > 1`, which a nan would pass.
            if let Some(v) = io.data::<T>(x, &from)?.iter().find(|v| !(T::ZERO..=T::ONE).contains(v)) {
                return Err(io.error(Kind::Range, x, format!("holds {v:?}, which is no probability")).help("apply sigmoid first"));
            }
            drop(from);
            let least = T::of(LEAST_LN);
            equal_sizes::each(io, [x, label], out, |[x, label]: [T; 2]| {
                (label - T::ONE) * (T::ONE - x).ln().max(least) - label * x.ln().max(least)
            })
        }))
    }
}

const GRAD: GradOp = GradOp::of(&BceLoss, "bce_loss_grad(Label, Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD * (X - Label) / (X * (1 - X)), the divisor at least 1e-12")
    .kernel(|p| {
        let inputs = [p.input("X")?, p.input("Label")?, p.input("Out@GRAD")?];
        let out = p.output("X@GRAD")?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[x, label, d]: [T; 3]| d * (x - label) / ((T::ONE - x) * x).max(T::of(1e-12)))
        }))
    });

#[cfg(test)]
mod tests {
    use std::f32::consts::LN_2;

    use crate::testing::{check, tensor};

    #[test]
    fn bce_loss() {
        check("bce_loss")
            .input("X", tensor([2, 2], &[0.25, 0.75, 0.5, 0.5]))
            .input("Label", tensor([2, 2], &[1.0, 0.0, 1.0, 0.5]))
            .output("Out", tensor([2, 2], &[2.0 * LN_2, 2.0 * LN_2, LN_2, LN_2]))
            .grad(&["X"])
            .run();
        check("bce_loss")
            .input("X", tensor([2], &[0.0, 1.0]))
            .input("Label", tensor([2], &[1.0, 1.0]))
            .output("Out", tensor([2], &[100.0, 0.0]))
            .run();
    }

    #[test]
    fn only_probabilities() {
        let e = check("bce_loss")
            .input("X", tensor([2], &[0.5, 1.5]))
            .input("Label", tensor([2], &[1.0, 1.0]))
            .any_output("Out")
            .error();
        assert!(e.contains("holds 1.5, which is no probability"), "{e}");
    }
}
