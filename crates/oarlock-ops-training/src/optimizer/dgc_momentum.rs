//! `dgc_momentum`: the optimizer of deep gradient compression: momentum while it warms up, plain descent after.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, by_float, checked_kernel};
use oarlock_tensor::Float;

use crate::optimizer::momentum::{MomentumRule, VELOCITY};
use crate::optimizer::row_rule::{self, PARAM, Scratch, Sparse, Update};
use crate::optimizer::sgd::SgdRule;

pub(crate) const OPS: &[&dyn OpDef] = &[&DgcMomentum];

const GRAD: (&str, &str) = ("Grad", "Grad_out");

struct DgcMomentum;

impl OpDef for DgcMomentum {
    fn sig(&self) -> Sig {
        Sig::new(
            "dgc_momentum",
            "Grad_out = Grad / nranks; then `momentum` of it while current_step < rampup_begin_step, else `sgd` of it, \
             because compression applies the momentum itself. With a negative rampup_begin_step nothing happens",
        )
        .input("current_step", "how many steps were done, one number")
        .input("nranks", "how many workers added their gradients, one number")
        .input("Param", "the parameter")
        .input("Grad", "sum of the workers' gradients of `Param`")
        .input("Velocity", "like `Param`")
        .input("LearningRate", "one number")
        .output("Grad_out", "mean of the workers' gradients")
        .output("ParamOut", "the parameter, updated")
        .output("VelocityOut", "updated while warming up")
        .required_attr("mu", "how much of the velocity stays from step to step")
        .attr("use_nesterov", false, "look ahead along the velocity")
        .attr("rampup_begin_step", -1.0f32, "the step from which gradients are compressed")
        .traits(Traits::NONE.in_place(&[PARAM, GRAD, VELOCITY]).whole_tensor())
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[VELOCITY])?;
        cx.same(GRAD.1, GRAD.0)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let a = p.attrs();
        let step = Step {
            momentum: Update::new(p, [VELOCITY], Sparse::Unsupported)?,
            grad: p.input(GRAD.0)?,
            grad_out: p.output(GRAD.1)?,
            lr: p.input("LearningRate")?,
            current: p.input("current_step")?,
            ranks: p.input("nranks")?,
            mu: a.f32("mu")?,
            nesterov: a.bool("use_nesterov")?,
            // Steps are counted in whole numbers.
            rampup: a.f32("rampup_begin_step")? as i64,
        };
        by_float!(p.float("Param")?, T => {
            let mut scratch = Scratch::new();
            checked_kernel(move |io| step.check::<T>(io), move |io| step.run::<T>(io, &mut scratch))
        })
    }
}

/// The inputs of a step.
#[derive(Clone, Copy)]
struct Step {
    momentum: Update<1>,
    grad: In,
    grad_out: Out,
    lr: In,
    current: In,
    ranks: In,
    mu: f32,
    nesterov: bool,
    rampup: i64,
}

impl Step {
    fn check<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        io.scalar(self.lr)?;
        io.scalar(self.current)?;
        let ranks = io.scalar(self.ranks)?;
        if ranks < 1.0 {
            return Err(io.error(
                Kind::Argument,
                self.ranks,
                format!("is {ranks}, but at least one worker is at work"),
            ));
        }
        self.momentum.check::<T>(io)
    }

    fn run<T: Float>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let lr = T::of(io.scalar(self.lr)?);
        self.average::<T>(io)?;
        let update = self.momentum.with_grad(In(self.grad_out.0));
        if self.rampup < 0 {
            return update.whole::<T>(io, |_, _| {});
        }
        if (io.scalar(self.current)? as i64) < self.rampup {
            let rule = MomentumRule { lr, mu: T::of(self.mu as f64), nesterov: self.nesterov };
            return update.apply(io, &rule, scratch);
        }
        update.whole::<T>(io, |_, _| {})?;
        update.without_states().apply(io, &SgdRule { lr }, scratch)
    }

    /// Grad_out = Grad / nranks.
    fn average<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let share = if self.rampup < 0 { T::ONE } else { T::ONE / T::of(io.scalar(self.ranks)?.trunc()) };
        let mut grad = io.update(self.grad, self.grad_out)?;
        for g in io.data_mut::<T>(self.grad_out, &mut grad)? {
            *g *= share;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn dgc(step: f32) -> Check {
        check("dgc_momentum")
            .input("current_step", tensor([1], &[step]))
            .input("nranks", tensor([1], &[2.0]))
            .input("Param", tensor([2], &[1.0, 2.0]))
            .input("Grad", tensor([2], &[2.0, -4.0]))
            .input("Velocity", tensor([2], &[2.0, 0.0]))
            .input("LearningRate", tensor([1], &[0.5]))
            .attr("mu", 0.5f32)
    }

    #[test]
    fn momentum_at_first() {
        dgc(2.0)
            .attr("rampup_begin_step", 3.0f32)
            .output("Grad_out", tensor([2], &[1.0, -2.0]))
            .output("VelocityOut", tensor([2], &[2.0, -2.0]))
            .output("ParamOut", tensor([2], &[0.0, 3.0]))
            .run();
    }

    #[test]
    fn plain_descent_later() {
        dgc(3.0)
            .attr("rampup_begin_step", 3.0f32)
            .output("Grad_out", tensor([2], &[1.0, -2.0]))
            .output("VelocityOut", tensor([2], &[2.0, 0.0]))
            .output("ParamOut", tensor([2], &[0.5, 3.0]))
            .run();
    }

    #[test]
    fn nothing_without_a_rampup() {
        dgc(0.0)
            .output("Grad_out", tensor([2], &[2.0, -4.0]))
            .output("VelocityOut", tensor([2], &[2.0, 0.0]))
            .output("ParamOut", tensor([2], &[1.0, 2.0]))
            .run();
    }
}
