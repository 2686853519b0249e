//! `decayed_adagrad`: adagrad that forgets.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&DecayedAdagrad];

const MOMENT: (&str, &str) = ("Moment", "MomentOut");

struct DecayedAdagrad;

impl OpDef for DecayedAdagrad {
    sig! {
        "decayed_adagrad": "m = decay * m + (1 - decay) * g^2; p -= lr * g / (sqrt(m) + epsilon)";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "Moment": "running mean of squared gradients, like `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "MomentOut": "updated";
        attr "decay" = 0.95f32, "how much of `Moment` stays from step to step";
        attr "epsilon" = 1e-6f32, "keeps the division finite";
        traits Traits::NONE.in_place(&[PARAM, MOMENT]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [MOMENT], Sparse::Unsupported)?;
        let lr = p.input("LearningRate")?;
        let (decay, epsilon) = (p.attrs().f32("decay")?, p.attrs().f32("epsilon")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| Ok(DecayedAdagradRule {
            lr: T::of(io.scalar(lr)?),
            decay: T::of(decay as f64),
            epsilon: T::of(epsilon as f64),
        })))
    }
}

/// Decayed adagrad of one row.
struct DecayedAdagradRule<T> {
    lr: T,
    decay: T,
    epsilon: T,
}

impl<T: Float> RowRule<T, 1> for DecayedAdagradRule<T> {
    fn update(&self, param: &mut [T], [moment]: [&mut [T]; 1], grad: &[T]) {
        let DecayedAdagradRule { lr, decay, epsilon } = *self;
        for ((p, m), &g) in param.iter_mut().zip(moment).zip(grad) {
            *m = decay * *m + (T::ONE - decay) * g * g;
            *p -= lr * g / (m.sqrt() + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn decayed_adagrad() -> Check {
        check("decayed_adagrad")
            .input("Param", tensor([2, 1], &[1.0, 2.0]))
            .input("Moment", tensor([2, 1], &[1.0, 8.0]))
            .input("LearningRate", tensor([1], &[1.0]))
            .attr("decay", 0.5f32)
            .attr("epsilon", 1.0f32)
    }

    #[test]
    fn dense() {
        decayed_adagrad()
            .input("Grad", tensor([2, 1], &[1.0, 0.0]))
            .output("MomentOut", tensor([2, 1], &[1.0, 4.0]))
            .output("ParamOut", tensor([2, 1], &[0.5, 2.0]))
            .run();
    }

    #[test]
    fn row_sparse_gradient_is_an_error() {
        let grad = tensor([1, 1], &[1.0]);
        let e =
            decayed_adagrad().rows_input("Grad", &[0], 2, grad).any_output("ParamOut").any_output("MomentOut").error();
        assert_eq!(
            e,
            "error[unsupported]: `decayed_adagrad`: input `Grad` = `Grad.0` is row-sparse, which this optimizer does not take\n  \
             at (`decayed_adagrad`, block 0, op 0)\n  \
             help: set is_sparse=False on the embedding, or use sgd, momentum, adam, adagrad, rmsprop, ftrl or lamb"
        );
    }
}
