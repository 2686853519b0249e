//! `adam`: steps scaled by running means of the gradient and of its square.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, checked_kernel, sig};
use oarlock_tensor::{Float, simd};

use crate::optimizer::row_rule::{self, PARAM, Pair, RowRule, Scratch, Sparse, Step, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Adam];

const MOMENT1: (&str, &str) = ("Moment1", "Moment1Out");
const MOMENT2: (&str, &str) = ("Moment2", "Moment2Out");
const BETA1_POW: (&str, &str) = ("Beta1Pow", "Beta1PowOut");
const BETA2_POW: (&str, &str) = ("Beta2Pow", "Beta2PowOut");

/// `adam`.
pub struct Adam;

impl OpDef for Adam {
    sig! {
        "adam":
            "m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2; \
             p -= lr * sqrt(1 - Beta2Pow) / (1 - Beta1Pow) * m / (sqrt(v) + epsilon); then the powers advance by their betas. \
             Rows that a row-sparse gradient does not list have a gradient of zero, or are left alone in lazy mode. \
             With a row-sparse gradient the powers advance before they are used, as saved runs expect, \
             and a gradient without rows changes nothing";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "LearningRate": "one number";
        in "Moment1": "running mean of the gradient, like `Param`";
        in "Moment2": "running mean of its square, like `Param`";
        in "Beta1Pow": "beta1 to the power of the step, one number";
        in "Beta2Pow": "beta2 to the power of the step, one number";
        in? "Beta1Tensor": "in place of the attribute `beta1`";
        in? "Beta2Tensor": "in place of the attribute `beta2`";
        out "ParamOut": "the parameter, updated";
        out "Moment1Out": "updated";
        out "Moment2Out": "updated";
        out "Beta1PowOut": "advanced by one step";
        out "Beta2PowOut": "advanced by one step";
        attr "beta1" = 0.9f32, "how much of `Moment1` stays from step to step";
        attr "beta2" = 0.999f32, "how much of `Moment2` stays from step to step";
        attr "epsilon" = 1e-8f32, "keeps the division finite";
        attr "lazy_mode" = false, "of a row-sparse gradient, update the listed rows only";
        hints ["min_row_size_to_use_multithread"];
        traits Traits::NONE.in_place(&[PARAM, MOMENT1, MOMENT2, BETA1_POW, BETA2_POW]).listed_rows_if("lazy_mode");
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT1, MOMENT2])?;
        for (from, to) in [BETA1_POW, BETA2_POW] {
            cx.same(to, from)?;
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (update, step) = AdamStep::new(p)?;
        by_float!(p.float("Param")?, T => {
            let mut scratch = Scratch::new();
            checked_kernel(
                move |io| {
                    step.check::<T>(io)?;
                    update.check::<T>(io)
                },
                move |io| step.run::<T>(io, update, &mut scratch),
            )
        })
    }
}

/// The step of an operator: where its numbers come from.
#[derive(Clone, Copy)]
pub struct AdamStep {
    lr: In,
    beta1_pow: Pair,
    beta2_pow: Pair,
    beta1: (f32, Option<In>),
    beta2: (f32, Option<In>),
    epsilon: f32,
}

impl Step<2> for AdamStep {
    type Rule<T: Float> = simd::Adam<T>;

    fn new(p: &Prepare<'_>) -> Result<(Update<2>, AdamStep)> {
        let sparse = if p.attrs().bool("lazy_mode")? { Sparse::Listed } else { Sparse::Every };
        let step = AdamStep {
            lr: p.input("LearningRate")?,
            beta1_pow: Pair::new(p, BETA1_POW)?,
            beta2_pow: Pair::new(p, BETA2_POW)?,
            beta1: (p.attrs().f32("beta1")?, p.maybe_input("Beta1Tensor")?),
            beta2: (p.attrs().f32("beta2")?, p.maybe_input("Beta2Tensor")?),
            epsilon: p.attrs().f32("epsilon")?,
        };
        Ok((Update::new(p, [MOMENT1, MOMENT2], sparse)?, step))
    }

    fn rule<T: Float>(&self, io: &Io<'_>) -> Result<simd::Adam<T>> {
        self.rule_with(io, Powers::AsStored)
    }

    fn check<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        self.rule::<T>(io)?;
        self.beta1_pow.check_number::<T>(io)?;
        self.beta2_pow.check_number::<T>(io)
    }

    fn finish<T: Float>(&self, io: &Io<'_>, rule: &simd::Adam<T>) -> Result<()> {
        self.advance(io, (rule.beta1, rule.beta2))
    }
}

impl AdamStep {
    fn rule_with<T: Float>(&self, io: &Io<'_>, powers: Powers) -> Result<simd::Adam<T>> {
        let beta = |(attr, tensor): (f32, Option<In>)| tensor.map_or(Ok(attr as f64), |t| io.scalar(t)).map(T::of);
        let (beta1, beta2) = (beta(self.beta1)?, beta(self.beta2)?);
        let power = |pair: Pair, beta: T| {
            let stored = T::of(pair.scalar(io)?);
            Ok(if powers == Powers::Advanced && pair.is_one() { stored * beta } else { stored })
        };
        let powers = (power(self.beta1_pow, beta1)?, power(self.beta2_pow, beta2)?);
        Ok(simd::Adam::new(T::of(io.scalar(self.lr)?), (beta1, beta2), powers, T::of(self.epsilon as f64)))
    }

    fn run<T: Float>(&self, io: &Io<'_>, update: Update<2>, scratch: &mut Scratch<T>) -> Result<()> {
        let powers = if update.is_sparse(io)? { Powers::Advanced } else { Powers::AsStored };
        let rule = self.rule_with::<T>(io, powers)?;
        let skip = update.is_empty(io)?;
        update.apply(io, &rule, scratch)?;
        self.advance(io, if skip { (T::ONE, T::ONE) } else { (rule.beta1, rule.beta2) })
    }

    /// Multiplies the stored powers.
    fn advance<T: Float>(&self, io: &Io<'_>, by: (T, T)) -> Result<()> {
        for (pair, beta) in [(self.beta1_pow, by.0), (self.beta2_pow, by.1)] {
            let stored = T::of(pair.scalar(io)?);
            pair.set(io, stored * beta)?;
        }
        Ok(())
    }
}

/// Which powers of the betas a step uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Powers {
    AsStored,
    /// Advanced by this step already, where they are advanced in place.
    Advanced,
}

impl<T: Float> RowRule<T, 2> for simd::Adam<T> {
    fn update(&self, param: &mut [T], [moment1, moment2]: [&mut [T]; 2], grad: &[T]) {
        simd::adam(param, moment1, moment2, grad, *self);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    /// beta1 = 0.5, beta2 = 0.75, both as at step 1; with lr 2 the corrected rate is 2 sqrt(1 - 0.75) / (1 - 0.5) = 2.
    fn adam() -> Check {
        check("adam")
            .input("Param", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Moment1", tensor([3, 1], &[2.0, 0.0, 2.0]))
            .input("Moment2", tensor([3, 1], &[0.0, 0.0, 4.0 / 3.0]))
            .input("Beta1Pow", tensor([1], &[0.5]))
            .input("Beta2Pow", tensor([1], &[0.75]))
            .input("LearningRate", tensor([1], &[2.0]))
            .attr("beta1", 0.5f32)
            .attr("beta2", 0.75f32)
            .attr("epsilon", 1.0f32)
    }

    #[test]
    fn dense() {
        adam()
            .input("Grad", tensor([3, 1], &[2.0, -2.0, 0.0]))
            .output("Moment1Out", tensor([3, 1], &[2.0, -1.0, 1.0]))
            .output("Moment2Out", tensor([3, 1], &[1.0, 1.0, 1.0]))
            .output("ParamOut", tensor([3, 1], &[-1.0, 3.0, 2.0]))
            .output("Beta1PowOut", tensor([1], &[0.25]))
            .output("Beta2PowOut", tensor([1], &[0.5625]))
            .run();
    }

    #[test]
    fn rows_not_listed_have_a_gradient_of_zero() {
        adam()
            .rows_input("Grad", &[1, 0, 1], 3, tensor([3, 1], &[-3.0, 2.0, 1.0]))
            .output("Moment1Out", tensor([3, 1], &[2.0, -1.0, 1.0]))
            .output("Moment2Out", tensor([3, 1], &[1.0, 1.0, 1.0]))
            .output("ParamOut", tensor([3, 1], &[-1.0, 3.0, 2.0]))
            .output("Beta1PowOut", tensor([1], &[0.25]))
            .any_output("Beta2PowOut")
            .run();
    }

    #[test]
    fn lazy_mode_leaves_rows_alone() {
        adam()
            .attr("lazy_mode", true)
            .rows_input("Grad", &[1, 0, 1], 3, tensor([3, 1], &[-3.0, 2.0, 1.0]))
            .output("Moment1Out", tensor([3, 1], &[2.0, -1.0, 2.0]))
            .output("Moment2Out", tensor([3, 1], &[1.0, 1.0, 4.0 / 3.0]))
            .output("ParamOut", tensor([3, 1], &[-1.0, 3.0, 3.0]))
            .any_output("Beta1PowOut")
            .any_output("Beta2PowOut")
            .run();
    }

    /// The powers 0.25 and 0.5625 of step 2 make the rate 2 sqrt(0.4375) / 0.75.
    #[test]
    fn powers_in_place_are_advanced_before_a_sparse_step() {
        let rate = 2.0 * 0.4375f32.sqrt() / 0.75;
        adam()
            .in_place("Beta1Pow", "Beta1PowOut")
            .in_place("Beta2Pow", "Beta2PowOut")
            .rows_input("Grad", &[0], 3, tensor([1, 1], &[2.0]))
            .output("ParamOut", tensor([3, 1], &[1.0 - rate, 2.0, 3.0 - rate * 0.5]))
            .any_output("Moment1Out")
            .any_output("Moment2Out")
            .run();
    }

    #[test]
    fn a_gradient_without_rows_changes_nothing() {
        adam()
            .rows_input("Grad", &[], 3, tensor([0, 1], &[]))
            .output("ParamOut", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .output("Moment1Out", tensor([3, 1], &[2.0, 0.0, 2.0]))
            .output("Beta1PowOut", tensor([1], &[0.5]))
            .any_output("Moment2Out")
            .any_output("Beta2PowOut")
            .run();
    }
}
