//! `sgd`: gradient descent.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::{Float, simd};

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Step, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Sgd];

/// `sgd`.
pub struct Sgd;

impl OpDef for Sgd {
    sig! {
        "sgd": "ParamOut = Param - LearningRate * Grad; of a row-sparse gradient, the listed rows only";
        in "Param": "the parameter";
        in "LearningRate": "one number";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        out "ParamOut": "the parameter, updated";
        traits Traits::NONE.in_place(&[PARAM]).listed_rows();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (update, step) = SgdStep::new(p)?;
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| step.rule(io)))
    }
}

/// The step of an operator.
#[derive(Clone, Copy)]
pub struct SgdStep {
    lr: In,
}

impl Step<0> for SgdStep {
    type Rule<T: Float> = SgdRule<T>;

    fn new(p: &Prepare<'_>) -> Result<(Update<0>, SgdStep)> {
        Ok((Update::new(p, [], Sparse::EachListed)?, SgdStep { lr: p.input("LearningRate")? }))
    }

    fn rule<T: Float>(&self, io: &Io<'_>) -> Result<SgdRule<T>> {
        Ok(SgdRule { lr: T::of(io.scalar(self.lr)?) })
    }
}

/// Gradient descent of one row.
pub struct SgdRule<T> {
    pub(crate) lr: T,
}

impl<T: Float> RowRule<T, 0> for SgdRule<T> {
    fn update(&self, param: &mut [T], []: [&mut [T]; 0], grad: &[T]) {
        simd::sgd(param, grad, self.lr);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn sgd() -> Check {
        check("sgd")
            .input("Param", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("LearningRate", tensor([1], &[0.5]))
    }

    #[test]
    fn dense() {
        sgd()
            .input("Grad", tensor([3, 2], &[2.0, 0.0, -2.0, 4.0, 0.0, 1.0]))
            .output("ParamOut", tensor([3, 2], &[0.0, 2.0, 4.0, 2.0, 5.0, 5.5]))
            .run();
        check("sgd")
            .input("Param", tensor_of([1], &[1.0f64]))
            .input("LearningRate", tensor_of([1], &[0.25f64]))
            .input("Grad", tensor_of([1], &[2.0f64]))
            .output("ParamOut", tensor_of([1], &[0.5f64]))
            .run();
    }

    #[test]
    fn repeated_rows_add_up() {
        sgd()
            .rows_input("Grad", &[2, 0, 2], 3, tensor([3, 2], &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]))
            .output("ParamOut", tensor([3, 2], &[0.0, 1.0, 3.0, 4.0, 3.0, 4.0]))
            .run();
        let nothing = tensor([0, 2], &[]);
        let same = tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        sgd().rows_input("Grad", &[], 3, nothing).output("ParamOut", same).run();
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = sgd().input("Grad", tensor([2, 2], &[0.0; 4])).any_output("ParamOut").error();
        assert_eq!(
            wrong,
            "error[shape]: `sgd` needs `Grad` = Grad.0 f32[2, 2] and `Param` = Param.0 f32[3, 2] of one shape\n  \
             at (`sgd`, block 0, op 0)"
        );
        let row = sgd().rows_input("Grad", &[1, 3], 3, tensor([2, 2], &[0.0; 4])).any_output("ParamOut").error();
        assert_eq!(
            row,
            "error[range]: `sgd`: input `Grad` = `Grad.0` lists row 3 (at position 1), but input `Param` = `Param.0` has 3 rows\n  \
             at (`sgd`, block 0, op 0)"
        );
        let negative = sgd().rows_input("Grad", &[-1], 3, tensor([1, 2], &[0.0; 2])).any_output("ParamOut").error();
        assert!(negative.contains("lists row -1 (at position 0)"), "{negative}");
    }
}
