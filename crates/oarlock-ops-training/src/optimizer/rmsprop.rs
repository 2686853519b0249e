//! `rmsprop`: steps scaled by the running mean of squared gradients, with momentum.

use oarlock_ir::{Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Rmsprop];

const MEAN_SQUARE: (&str, &str) = ("MeanSquare", "MeanSquareOut");
const MEAN_GRAD: (&str, &str) = ("MeanGrad", "MeanGradOut");
const MOMENT: (&str, &str) = ("Moment", "MomentOut");

struct Rmsprop;

impl OpDef for Rmsprop {
    sig! {
        "rmsprop":
            "s = decay * s + (1 - decay) * g^2; m = momentum * m + lr * g / sqrt(s + epsilon); p -= m. Centered: \
             a = decay * a + (1 - decay) * g, and s - a^2 in place of s under the root. \
             Rows that a row-sparse gradient does not list have a gradient of zero";
        in "Param": "the parameter";
        in "MeanSquare": "running mean of squared gradients, like `Param`";
        in? "MeanGrad": "running mean of gradients, like `Param`; needed when centered";
        in "LearningRate": "one number";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "Moment": "the last step, like `Param`";
        out "ParamOut": "the parameter, updated";
        out "MomentOut": "updated";
        out "MeanSquareOut": "updated";
        out "MeanGradOut": "updated when centered";
        attr "epsilon" = 1e-10f32, "keeps the division finite";
        attr "decay" = 0.9f32, "how much of the means stays from step to step";
        attr "momentum" = 0.0f32, "how much of the last step is repeated";
        attr "centered" = false, "scale by the variance instead of the mean square";
        traits Traits::NONE.in_place(&[PARAM, MEAN_SQUARE, MEAN_GRAD, MOMENT]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MEAN_SQUARE, MEAN_GRAD, MOMENT])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (lr, a) = (p.input("LearningRate")?, p.attrs());
        let (decay, epsilon, momentum) = (a.f32("decay")?, a.f32("epsilon")?, a.f32("momentum")?);
        by_float!(p.float("Param")?, T => {
            let rule = move |io: &Io<'_>| Ok(RmspropRule {
                lr: T::of(io.scalar(lr)?),
                decay: T::of(decay as f64),
                epsilon: T::of(epsilon as f64),
                momentum: T::of(momentum as f64),
            });
            if a.bool("centered")? {
                Update::new(p, [MEAN_SQUARE, MOMENT, MEAN_GRAD], Sparse::Every)?.kernel::<T, _>(rule)
            } else {
                Update::new(p, [MEAN_SQUARE, MOMENT], Sparse::Every)?.kernel::<T, _>(rule)
            }
        })
    }
}

/// RMSProp of one row: plain with two states, centered with three.
struct RmspropRule<T> {
    lr: T,
    decay: T,
    epsilon: T,
    momentum: T,
}

impl<T: Float> RowRule<T, 2> for RmspropRule<T> {
    fn update(&self, param: &mut [T], [mean_square, moment]: [&mut [T]; 2], grad: &[T]) {
        let RmspropRule { lr, decay, epsilon, momentum } = *self;
        for (((p, s), m), &g) in param.iter_mut().zip(mean_square).zip(moment).zip(grad) {
            *s = decay * *s + (T::ONE - decay) * g * g;
            *m = momentum * *m + lr * g / (*s + epsilon).sqrt();
            *p -= *m;
        }
    }
}

impl<T: Float> RowRule<T, 3> for RmspropRule<T> {
    fn update(&self, param: &mut [T], [mean_square, moment, mean_grad]: [&mut [T]; 3], grad: &[T]) {
        let RmspropRule { lr, decay, epsilon, momentum } = *self;
        let states = mean_square.iter_mut().zip(moment).zip(mean_grad);
        for ((p, ((s, m), a)), &g) in param.iter_mut().zip(states).zip(grad) {
            *s = decay * *s + (T::ONE - decay) * g * g;
            *a = decay * *a + (T::ONE - decay) * g;
            *m = momentum * *m + lr * g / (*s - *a * *a + epsilon).sqrt();
            *p -= *m;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn rmsprop() -> Check {
        check("rmsprop")
            .input("Param", tensor([2, 1], &[1.0, 2.0]))
            .input("MeanSquare", tensor([2, 1], &[2.0, 6.0]))
            .input("MeanGrad", tensor([2, 1], &[-2.0, 2.0]))
            .input("Moment", tensor([2, 1], &[0.0, 2.0]))
            .input("LearningRate", tensor([1], &[0.5]))
            .attr("decay", 0.5f32)
            .attr("epsilon", 1.0f32)
            .attr("momentum", 0.5f32)
    }

    #[test]
    fn plain() {
        rmsprop()
            .input("Grad", tensor([2, 1], &[2.0, 0.0]))
            .output("MeanSquareOut", tensor([2, 1], &[3.0, 3.0]))
            .output("MomentOut", tensor([2, 1], &[0.5, 1.0]))
            .output("ParamOut", tensor([2, 1], &[0.5, 1.0]))
            .run();
        rmsprop()
            .rows_input("Grad", &[0, 0], 2, tensor([2, 1], &[3.0, -1.0]))
            .output("MeanSquareOut", tensor([2, 1], &[3.0, 3.0]))
            .any_output("MomentOut")
            .output("ParamOut", tensor([2, 1], &[0.5, 1.0]))
            .run();
    }

    #[test]
    fn centered() {
        rmsprop()
            .attr("centered", true)
            .input("Grad", tensor([2, 1], &[2.0, 0.0]))
            .output("MeanSquareOut", tensor([2, 1], &[3.0, 3.0]))
            .output("MeanGradOut", tensor([2, 1], &[0.0, 1.0]))
            .output("MomentOut", tensor([2, 1], &[0.5, 1.0]))
            .output("ParamOut", tensor([2, 1], &[0.5, 1.0]))
            .run();
    }
}
