//! `lamb`: Adam's direction with a step as long as the parameter is large.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, checked_kernel, sig};
use oarlock_tensor::{Float, simd};

use crate::optimizer::row_rule::{self, PARAM, RowRule, Scratch, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Lamb];

const MOMENT1: (&str, &str) = ("Moment1", "Moment1Out");
const MOMENT2: (&str, &str) = ("Moment2", "Moment2Out");

struct Lamb;

impl OpDef for Lamb {
    sig! {
        "lamb":
            "m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2; r = m / (sqrt(v) + epsilon) + weight_decay * p; \
             p -= lr * |p| / |r| * r, with norms over the whole parameter. There is no bias correction. \
             Rows that a row-sparse gradient does not list have a gradient of zero; a gradient without rows changes nothing";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "LearningRate": "one number";
        in "Moment1": "running mean of the gradient, like `Param`";
        in "Moment2": "running mean of its square, like `Param`";
        in "Beta1Pow": "not used";
        in "Beta2Pow": "not used";
        out "ParamOut": "the parameter, updated";
        out "Moment1Out": "updated";
        out "Moment2Out": "updated";
        attr "weight_decay": "how much of the parameter is part of the direction";
        attr "beta1" = 0.9f32, "how much of `Moment1` stays from step to step";
        attr "beta2" = 0.999f32, "how much of `Moment2` stays from step to step";
        attr "epsilon" = 1e-6f32, "keeps the division finite";
        traits Traits::NONE.in_place(&[PARAM, MOMENT1, MOMENT2]).whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT1, MOMENT2])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [MOMENT1, MOMENT2], Sparse::EveryOfTensor)?;
        let (lr, a) = (p.input("LearningRate")?, p.attrs());
        by_float!(p.float("Param")?, T => {
            let rule = LambRule {
                beta1: T::of(a.f32("beta1")? as f64),
                beta2: T::of(a.f32("beta2")? as f64),
                epsilon: T::of(a.f32("epsilon")? as f64),
                decay: T::of(a.f32("weight_decay")? as f64),
            };
            let mut scratch = Scratch::new();
            checked_kernel(
                move |io| {
                    io.scalar(lr)?;
                    update.check::<T>(io)
                },
                move |io| rule.step(io, update, lr, &mut scratch),
            )
        })
    }
}

/// The part of LAMB that is done row by row: the moments.
#[derive(Clone, Copy)]
struct LambRule<T> {
    beta1: T,
    beta2: T,
    epsilon: T,
    decay: T,
}

impl<T: Float> RowRule<T, 2> for LambRule<T> {
    fn update(&self, _param: &mut [T], [moment1, moment2]: [&mut [T]; 2], grad: &[T]) {
        for ((m, v), &g) in moment1.iter_mut().zip(moment2).zip(grad) {
            *m = self.beta1 * *m + (T::ONE - self.beta1) * g;
            *v = self.beta2 * *v + (T::ONE - self.beta2) * g * g;
        }
    }
}

impl<T: Float> LambRule<T> {
    fn step(&self, io: &Io<'_>, update: Update<2>, lr: In, scratch: &mut Scratch<T>) -> Result<()> {
        let lr = T::of(io.scalar(lr)?);
        let skip = update.is_empty(io)?;
        update.apply(io, self, scratch)?;
        update.written().whole(io, |param, [moment1, moment2]| {
            if !skip {
                self.descend(param, moment1, moment2, lr);
            }
        })
    }

    /// The direction is computed twice, for its norm and for the step: cheaper than keeping it.
    fn descend(&self, param: &mut [T], moment1: &[T], moment2: &[T], lr: T) {
        let direction = |p: T, m: T, v: T| m / (v.sqrt() + self.epsilon) + self.decay * p;
        let moments = || moment1.iter().zip(moment2);
        let param_norm = simd::sum_of_squares(param).sqrt();
        let square = |(&p, (&m, &v)): (&T, (&T, &T))| direction(p, m, v).f64().powi(2);
        let direction_norm = T::of(param.iter().zip(moments()).map(square).sum::<f64>().sqrt());
        let usable = param_norm > T::ZERO && direction_norm > T::ZERO;
        let rate = if usable { lr * (param_norm / direction_norm) } else { lr };
        for (p, (&m, &v)) in param.iter_mut().zip(moments()) {
            *p -= rate * direction(*p, m, v);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    /// With epsilon 0 and equal moments the direction is (1, 1) without decay.
    fn lamb() -> Check {
        check("lamb")
            .input("Param", tensor([2, 1], &[3.0, 4.0]))
            .input("Moment1", tensor([2, 1], &[0.0, 0.0]))
            .input("Moment2", tensor([2, 1], &[3.0, 3.0]))
            .input("Beta1Pow", tensor([1], &[0.5]))
            .input("Beta2Pow", tensor([1], &[0.5]))
            .input("LearningRate", tensor([1], &[0.1]))
            .attr("beta1", 0.5f32)
            .attr("beta2", 0.0f32)
            .attr("epsilon", 0.0f32)
            .attr("weight_decay", 0.0f32)
    }

    #[test]
    fn the_step_is_as_long_as_the_parameter() {
        // |p| = 5, r = (0.5, 0.5), |r| = sqrt(0.5).
        let step = 0.1 * 5.0 / 0.5f32.sqrt() * 0.5;
        lamb()
            .input("Grad", tensor([2, 1], &[2.0, 2.0]))
            .output("Moment1Out", tensor([2, 1], &[1.0, 1.0]))
            .output("Moment2Out", tensor([2, 1], &[4.0, 4.0]))
            .output("ParamOut", tensor([2, 1], &[3.0 - step, 4.0 - step]))
            .run();
        lamb()
            .rows_input("Grad", &[1, 0, 0], 2, tensor([3, 1], &[2.0, 1.5, 0.5]))
            .any_output("Moment1Out")
            .any_output("Moment2Out")
            .output("ParamOut", tensor([2, 1], &[3.0 - step, 4.0 - step]))
            .run();
    }

    #[test]
    fn a_gradient_without_rows_changes_nothing() {
        lamb()
            .rows_input("Grad", &[], 2, tensor([0, 1], &[]))
            .any_output("Moment1Out")
            .output("Moment2Out", tensor([2, 1], &[3.0, 3.0]))
            .output("ParamOut", tensor([2, 1], &[3.0, 4.0]))
            .run();
    }
}
