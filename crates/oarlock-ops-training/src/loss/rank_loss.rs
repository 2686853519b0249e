//! `rank_loss`: the cross entropy of which of two scores is higher.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, product, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&RankLoss, &GRAD];

fn softplus<T: Float>(x: T) -> T {
    x.max(T::ZERO) + (-x.abs()).exp().ln_1p()
}

fn sigmoid<T: Float>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}

struct RankLoss;

impl OpDef for RankLoss {
    sig! {
        "rank_loss": "Out = ln(1 + exp(Left - Right)) - Label * (Left - Right)";
        in "Label": "1 if left ranks higher, else 0";
        in "Left": "scores";
        in "Right": "scores";
        out "Out": "like the inputs";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let label = cx.float("Label")?;
        for slot in ["Left", "Right"] {
            let scores = cx.float(slot)?;
            if !product(&label.shape).fits(product(&scores.shape)) {
                let what = format_args!("cannot compare {} with {}", cx.describe("Label"), cx.describe(slot));
                return Err(cx.shape_error(what).help("all need the same number of elements"));
            }
        }
        cx.set("Out", label);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = [p.input("Label")?, p.input("Left")?, p.input("Right")?];
        let out = p.output("Out")?;
        by_float!(p.float("Label")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[label, left, right]: [T; 3]| softplus(left - right) - label * (left - right))
        }))
    }
}

const GRAD: GradOp = GradOp::of(&RankLoss, "rank_loss_grad(Label, Left, Out@GRAD, Right) -> Left@GRAD, Right@GRAD")
    .doc("Left@GRAD = Out@GRAD * (sigmoid(Left - Right) - Label); Right@GRAD = -Left@GRAD")
    .infer(|cx| {
        cx.same("Left@GRAD", "Left")?;
        cx.same("Right@GRAD", "Right")
    })
    .kernel(|p| {
        let inputs = [p.input("Label")?, p.input("Left")?, p.input("Right")?, p.input("Out@GRAD")?];
        let (left_grad, right_grad) = (p.maybe_output("Left@GRAD")?, p.maybe_output("Right@GRAD")?);
        by_float!(p.float("Label")?, T => kernel(move |io| {
            // The first input gives its sizes to the result.
            let [label, left, right, d] = inputs;
            if let Some(out) = left_grad {
                let inputs = [left, right, label, d];
                equal_sizes::each(io, inputs, out, |[left, right, label, d]: [T; 4]| d * (sigmoid(left - right) - label))?;
            }
            if let Some(out) = right_grad {
                let inputs = [right, left, label, d];
                equal_sizes::each(io, inputs, out, |[right, left, label, d]: [T; 4]| -d * (sigmoid(left - right) - label))?;
            }
            Ok(())
        }))
    });

#[test]
fn rank_loss() {
    use crate::testing::{check, tensor};
    check("rank_loss")
        .input("Label", tensor([2, 1], &[1.0, 0.0]))
        .input("Left", tensor([2, 1], &[0.5, 0.5]))
        .input("Right", tensor([2, 1], &[0.25, 1.5]))
        .output("Out", tensor([2, 1], &[0.575_939_4, 0.313_261_7]))
        .grad(&["Left", "Right"])
        .run();
}

#[test]
fn rank_loss_of_columns_and_vectors() {
    use crate::testing::{check, tensor};
    check("rank_loss")
        .input("Label", tensor([2, 1], &[1.0, 0.0]))
        .input("Left", tensor([2], &[0.5, 0.5]))
        .input("Right", tensor([2, 1], &[0.25, 1.5]))
        .output("Out", tensor([2, 1], &[0.575_939_4, 0.313_261_7]))
        .grad(&["Left", "Right"])
        .run();
}
