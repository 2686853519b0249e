//! `momentum`: gradient descent with a velocity.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::{Float, simd};

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Step, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Momentum];

/// The slots of the velocity, before and after.
pub(crate) const VELOCITY: (&str, &str) = ("Velocity", "VelocityOut");

/// `momentum`.
pub struct Momentum;

impl OpDef for Momentum {
    sig! {
        "momentum":
            "VelocityOut = mu * Velocity + Grad; ParamOut = Param - LearningRate * VelocityOut, or with Nesterov's method \
             Param - LearningRate * (Grad + mu * VelocityOut). Rows that a row-sparse gradient does not list have a gradient of zero";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "Velocity": "like `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "VelocityOut": "the velocity, updated";
        attr "mu": "how much of the velocity stays from step to step";
        attr "use_nesterov" = false, "look ahead along the velocity";
        traits Traits::NONE.in_place(&[PARAM, VELOCITY]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[VELOCITY])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (update, step) = MomentumStep::new(p)?;
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| step.rule(io)))
    }
}

/// The step of an operator.
#[derive(Clone, Copy)]
pub struct MomentumStep {
    lr: In,
    mu: f32,
    nesterov: bool,
}

impl Step<1> for MomentumStep {
    type Rule<T: Float> = MomentumRule<T>;

    fn new(p: &Prepare<'_>) -> Result<(Update<1>, MomentumStep)> {
        let (mu, nesterov) = (p.attrs().f32("mu")?, p.attrs().bool("use_nesterov")?);
        let step = MomentumStep { lr: p.input("LearningRate")?, mu, nesterov };
        Ok((Update::new(p, [VELOCITY], Sparse::Every)?, step))
    }

    fn rule<T: Float>(&self, io: &Io<'_>) -> Result<MomentumRule<T>> {
        Ok(MomentumRule { lr: T::of(io.scalar(self.lr)?), mu: T::of(self.mu as f64), nesterov: self.nesterov })
    }
}

/// Gradient descent with a velocity, of one row.
pub struct MomentumRule<T> {
    pub(crate) lr: T,
    pub(crate) mu: T,
    pub(crate) nesterov: bool,
}

impl<T: Float> RowRule<T, 1> for MomentumRule<T> {
    fn update(&self, param: &mut [T], [velocity]: [&mut [T]; 1], grad: &[T]) {
        let step = if self.nesterov { simd::nesterov } else { simd::momentum };
        step(param, velocity, grad, self.lr, self.mu);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn momentum() -> Check {
        check("momentum")
            .input("Param", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Velocity", tensor([3, 1], &[4.0, 0.0, -2.0]))
            .input("LearningRate", tensor([1], &[0.5]))
            .attr("mu", 0.5f32)
    }

    #[test]
    fn dense() {
        let grad = tensor([3, 1], &[1.0, 1.0, 2.0]);
        momentum()
            .input("Grad", grad.clone())
            .output("VelocityOut", tensor([3, 1], &[3.0, 1.0, 1.0]))
            .output("ParamOut", tensor([3, 1], &[-0.5, 1.5, 2.5]))
            .run();
        momentum()
            .attr("use_nesterov", true)
            .input("Grad", grad)
            .output("VelocityOut", tensor([3, 1], &[3.0, 1.0, 1.0]))
            .output("ParamOut", tensor([3, 1], &[-0.25, 1.25, 1.75]))
            .run();
    }

    #[test]
    fn rows_not_listed_move_on() {
        momentum()
            .rows_input("Grad", &[2, 1, 2], 3, tensor([3, 1], &[1.5, 1.0, 0.5]))
            .output("VelocityOut", tensor([3, 1], &[2.0, 1.0, 1.0]))
            .output("ParamOut", tensor([3, 1], &[0.0, 1.5, 2.5]))
            .run();
    }

    #[test]
    fn a_gradient_without_rows_changes_nothing() {
        momentum()
            .rows_input("Grad", &[], 3, tensor([0, 1], &[]))
            .output("VelocityOut", tensor([3, 1], &[4.0, 0.0, -2.0]))
            .output("ParamOut", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .run();
    }
}
