//! `adadelta`: steps as large as the last ones were, relative to the gradient.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Adadelta];

const SQUARED_GRAD: (&str, &str) = ("AvgSquaredGrad", "AvgSquaredGradOut");
const SQUARED_UPDATE: (&str, &str) = ("AvgSquaredUpdate", "AvgSquaredUpdateOut");

struct Adadelta;

impl OpDef for Adadelta {
    sig! {
        "adadelta": "s = rho * s + (1 - rho) * g^2; u = rho * u + (1 - rho) * (u + epsilon) / (s + epsilon) * g^2; \
             p -= sqrt((u + epsilon) / (s + epsilon)) * g. Where `AvgSquaredUpdateOut` is `AvgSquaredUpdate` itself, as optimizers \
             have it, the step uses the mean of steps that already contains it, else the mean so far";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "AvgSquaredGrad": "running mean of squared gradients, like `Param`";
        in "AvgSquaredUpdate": "running mean of squared steps, like `Param`";
        out "ParamOut": "the parameter, updated";
        out "AvgSquaredGradOut": "updated";
        out "AvgSquaredUpdateOut": "updated";
        attr "rho" = 0.95f32, "how much of the means stays from step to step";
        attr "epsilon" = 1e-6f32, "keeps the division finite";
        traits Traits::NONE.in_place(&[PARAM, SQUARED_GRAD, SQUARED_UPDATE]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[SQUARED_GRAD, SQUARED_UPDATE])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [SQUARED_GRAD, SQUARED_UPDATE], Sparse::Unsupported)?;
        let (rho, epsilon) = (p.attrs().f32("rho")?, p.attrs().f32("epsilon")?);
        // Fluid computes the step once more after the mean was written: only a mean of its own is still the old one then.
        let (old, new) = (p.op().inputs.get(SQUARED_UPDATE.0).first(), p.op().outputs.get(SQUARED_UPDATE.1).first());
        let with_new_mean = old == new;
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |_| {
            Ok(AdadeltaRule { rho: T::of(rho as f64), epsilon: T::of(epsilon as f64), with_new_mean })
        }))
    }
}

/// Adadelta of one row.
struct AdadeltaRule<T> {
    rho: T,
    epsilon: T,
    with_new_mean: bool,
}

impl<T: Float> RowRule<T, 2> for AdadeltaRule<T> {
    fn update(&self, param: &mut [T], [squared_grad, squared_update]: [&mut [T]; 2], grad: &[T]) {
        let AdadeltaRule { rho, epsilon, with_new_mean } = *self;
        for (((p, s), u), &g) in param.iter_mut().zip(squared_grad).zip(squared_update).zip(grad) {
            *s = rho * *s + (T::ONE - rho) * (g * g);
            let step = |u: T| ((u + epsilon) / (*s + epsilon)).sqrt() * g;
            let old = step(*u);
            *u = rho * *u + (T::ONE - rho) * (old * old);
            *p -= if with_new_mean { step(*u) } else { old };
        }
    }
}

#[test]
fn adadelta() {
    use crate::testing::{check, tensor};
    check("adadelta")
        .input("Param", tensor([2], &[1.0, 2.0]))
        .input("Grad", tensor([2], &[1.0, 0.0]))
        .input("AvgSquaredGrad", tensor([2], &[5.0, 2.0]))
        .input("AvgSquaredUpdate", tensor([2], &[0.0, 2.0]))
        .attr("rho", 0.5f32)
        .attr("epsilon", 1.0f32)
        .output("AvgSquaredGradOut", tensor([2], &[3.0, 1.0]))
        .output("AvgSquaredUpdateOut", tensor([2], &[0.125, 1.0]))
        .output("ParamOut", tensor([2], &[0.5, 2.0]))
        .run();
}
