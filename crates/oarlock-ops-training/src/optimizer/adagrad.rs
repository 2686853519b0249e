//! `adagrad`: steps that shrink with the sum of squared gradients.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::{Float, simd};

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Adagrad];

const MOMENT: (&str, &str) = ("Moment", "MomentOut");

struct Adagrad;

impl OpDef for Adagrad {
    sig! {
        "adagrad":
            "m += g^2; p -= lr * g / (sqrt(m) + epsilon). Of a row-sparse gradient, repeated rows are summed first \
             and only the listed rows are updated";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "Moment": "sum of squared gradients, like `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "MomentOut": "updated";
        attr "epsilon" = 1e-6f32, "keeps the division finite";
        traits Traits::NONE.in_place(&[PARAM, MOMENT]).listed_rows();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [MOMENT], Sparse::Listed)?;
        let (lr, epsilon) = (p.input("LearningRate")?, p.attrs().f32("epsilon")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| {
            Ok(AdagradRule { lr: T::of(io.scalar(lr)?), epsilon: T::of(epsilon as f64) })
        }))
    }
}

/// Adagrad of one row.
struct AdagradRule<T> {
    lr: T,
    epsilon: T,
}

impl<T: Float> RowRule<T, 1> for AdagradRule<T> {
    fn update(&self, param: &mut [T], [moment]: [&mut [T]; 1], grad: &[T]) {
        simd::adagrad(param, moment, grad, self.lr, self.epsilon);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn adagrad() -> Check {
        check("adagrad")
            .input("Param", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Moment", tensor([3, 1], &[0.0, 0.0, 5.0]))
            .input("LearningRate", tensor([1], &[1.0]))
            .attr("epsilon", 1.0f32)
    }

    #[test]
    fn dense() {
        adagrad()
            .input("Grad", tensor([3, 1], &[3.0, 0.0, 2.0]))
            .output("MomentOut", tensor([3, 1], &[9.0, 0.0, 9.0]))
            .output("ParamOut", tensor([3, 1], &[0.25, 2.0, 2.5]))
            .run();
    }

    #[test]
    fn repeated_rows_are_summed_before_they_are_squared() {
        adagrad()
            .rows_input("Grad", &[2, 0, 2], 3, tensor([3, 1], &[1.0, 3.0, 1.0]))
            .output("MomentOut", tensor([3, 1], &[9.0, 0.0, 9.0]))
            .output("ParamOut", tensor([3, 1], &[0.25, 2.0, 2.5]))
            .run();
    }
}
