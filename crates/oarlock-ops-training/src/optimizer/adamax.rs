//! `adamax`: Adam with the largest gradient seen in place of the running mean of squares.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Adamax];

const MOMENT: (&str, &str) = ("Moment", "MomentOut");
const INF_NORM: (&str, &str) = ("InfNorm", "InfNormOut");

struct Adamax;

impl OpDef for Adamax {
    sig! {
        "adamax":
            "m = beta1 * m + (1 - beta1) * g; n = max(|g|, beta2 * n + epsilon); p -= lr / (1 - Beta1Pow) * m / n. \
             The power is advanced by another operator";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "LearningRate": "one number";
        in "Moment": "running mean of the gradient, like `Param`";
        in "InfNorm": "running maximum of its size, like `Param`";
        in "Beta1Pow": "beta1 to the power of the step, one number";
        out "ParamOut": "the parameter, updated";
        out "MomentOut": "updated";
        out "InfNormOut": "updated";
        attr "beta1" = 0.9f32, "how much of `Moment` stays from step to step";
        attr "beta2" = 0.999f32, "how much of `InfNorm` stays from step to step";
        attr "epsilon" = 1e-8f32, "keeps the division finite";
        traits Traits::NONE.in_place(&[PARAM, MOMENT, INF_NORM]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT, INF_NORM])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [MOMENT, INF_NORM], Sparse::Unsupported)?;
        let (lr, beta1_pow) = (p.input("LearningRate")?, p.input("Beta1Pow")?);
        let a = p.attrs();
        let (beta1, beta2, epsilon) = (a.f32("beta1")?, a.f32("beta2")?, a.f32("epsilon")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| Ok(AdamaxRule {
            lr: T::of(io.scalar(lr)?) / (T::ONE - T::of(io.scalar(beta1_pow)?)),
            beta1: T::of(beta1 as f64),
            beta2: T::of(beta2 as f64),
            epsilon: T::of(epsilon as f64),
        })))
    }
}

/// Adamax of one row. The bias correction is part of the learning rate.
struct AdamaxRule<T> {
    lr: T,
    beta1: T,
    beta2: T,
    epsilon: T,
}

impl<T: Float> RowRule<T, 2> for AdamaxRule<T> {
    fn update(&self, param: &mut [T], [moment, norm]: [&mut [T]; 2], grad: &[T]) {
        let AdamaxRule { lr, beta1, beta2, epsilon } = *self;
        for (((p, m), n), &g) in param.iter_mut().zip(moment).zip(norm).zip(grad) {
            *m = beta1 * *m + (T::ONE - beta1) * g;
            *n = g.abs().max(beta2 * *n + epsilon);
            *p -= lr * (*m / *n);
        }
    }
}

#[test]
fn adamax() {
    use crate::testing::{check, tensor};
    check("adamax")
        .input("Param", tensor([2], &[1.0, 2.0]))
        .input("Grad", tensor([2], &[2.0, 0.0]))
        .input("Moment", tensor([2], &[0.0, 4.0]))
        .input("InfNorm", tensor([2], &[1.0, 4.0]))
        .input("Beta1Pow", tensor([1], &[0.5]))
        .input("LearningRate", tensor([1], &[0.5]))
        .attr("beta1", 0.5f32)
        .attr("beta2", 0.5f32)
        .attr("epsilon", 0.0f32)
        .output("MomentOut", tensor([2], &[1.0, 2.0]))
        .output("InfNormOut", tensor([2], &[2.0, 2.0]))
        .output("ParamOut", tensor([2], &[0.5, 1.0]))
        .run();
}
