//! `label_smooth`: labels mixed with a prior distribution.

use oarlock_ir::{GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::pointwise;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&LabelSmooth, &GRAD];

struct LabelSmooth;

impl OpDef for LabelSmooth {
    sig! {
        "label_smooth": "Out = (1 - epsilon) * X + epsilon * prior";
        in "X": "labels [..., classes]";
        in? "PriorDist": "[1, classes]; 1 / classes if left out";
        out "Out": "like `X`";
        attr "epsilon" = 0.0f32, "weight of the prior";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, prior, out) = (p.input("X")?, p.maybe_input("PriorDist")?, p.output("Out")?);
        let epsilon = p.attrs().f32("epsilon")?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let epsilon = T::of(epsilon.into());
            let prior_tensor = prior.map(|p| io.dense(p)).transpose()?;
            let mut t = io.update(x, out)?;
            let classes = t.dims().last().copied().unwrap_or(1);
            let prior = match (prior, &prior_tensor) {
                (Some(input), Some(tensor)) if tensor.numel() != classes => {
                    let what = format_args!("has {} elements, but there are {classes} classes", tensor.numel());
                    return Err(io.error(Kind::Shape, input, what));
                }
                (Some(input), Some(tensor)) => io.data::<T>(input, tensor)?,
                _ => &[T::ONE / T::of(classes.max(1) as f64)],
            };
            for (v, prior) in io.data_mut::<T>(out, &mut t)?.iter_mut().zip(prior.iter().cycle()) {
                *v = (T::ONE - epsilon) * *v + epsilon * *prior;
            }
            Ok(())
        }))
    }
}

const GRAD: GradOp = GradOp::of(&LabelSmooth, "label_smooth_grad(Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = (1 - epsilon) * Out@GRAD")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .infer(|cx| cx.same("X@GRAD", "Out@GRAD"))
    .kernel(|p| {
        let (d, dx, epsilon) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, p.attrs().f32("epsilon")?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let factor = T::ONE - T::of(epsilon.into());
            pointwise::map(io, d, dx, |d: T| factor * d)
        }))
    });

#[test]
fn label_smooth() {
    use crate::testing::{check, tensor};
    let case = || check("label_smooth").input("X", tensor([2, 2], &[1.0, 0.0, 0.0, 1.0])).attr("epsilon", 0.5f32);
    case().output("Out", tensor([2, 2], &[0.75, 0.25, 0.25, 0.75])).grad(&["X"]).run();
    case()
        .input("PriorDist", tensor([1, 2], &[0.25, 0.75]))
        .output("Out", tensor([2, 2], &[0.625, 0.375, 0.125, 0.875]))
        .grad(&["X"])
        .run();
}
