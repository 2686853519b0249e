//! `lars_momentum`: momentum with a learning rate per parameter, from the norms of parameter and gradient.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, checked_kernel, sig};
use oarlock_tensor::Float;

use crate::optimizer::momentum::VELOCITY;
use crate::optimizer::row_rule::{self, PARAM, RowRule, Scratch, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&LarsMomentum];

struct LarsMomentum;

impl OpDef for LarsMomentum {
    sig! {
        "lars_momentum": "r = lr * lars_coeff * |p| / (|g| + lars_weight_decay * |p|), or lr when a norm is 0; \
             v = mu * v + r * (g + lars_weight_decay * p); p -= v";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "Velocity": "like `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "VelocityOut": "updated";
        attr "mu": "how much of the velocity stays from step to step";
        attr "lars_coeff" = 0.001f32, "how far to trust the ratio of the norms";
        attr "lars_weight_decay" = 0.0005f32, "weight of the parameter in the gradient";
        traits Traits::NONE.in_place(&[PARAM, VELOCITY]).whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[VELOCITY])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [VELOCITY], Sparse::Unsupported)?;
        let (lr, a) = (p.input("LearningRate")?, p.attrs());
        let (mu, coeff, decay) = (a.f32("mu")?, a.f32("lars_coeff")?, a.f32("lars_weight_decay")?);
        by_float!(p.float("Param")?, T => {
            let (mu, coeff, decay) = (T::of(mu as f64), T::of(coeff as f64), T::of(decay as f64));
            let mut scratch = Scratch::new();
            checked_kernel(
                move |io| {
                    io.scalar(lr)?;
                    update.check::<T>(io)
                },
                move |io| {
                    let (param, grad) = update.norms::<T>(io)?;
                    let mut lr = T::of(io.scalar(lr)?);
                    if param > T::ZERO && grad > T::ZERO {
                        lr = lr * coeff * param / (grad + decay * param);
                    }
                    update.apply(io, &LarsRule { lr, mu, decay }, &mut scratch)
                },
            )
        })
    }
}

/// The update once the parameter's learning rate is known.
struct LarsRule<T> {
    lr: T,
    mu: T,
    decay: T,
}

impl<T: Float> RowRule<T, 1> for LarsRule<T> {
    fn update(&self, param: &mut [T], [velocity]: [&mut [T]; 1], grad: &[T]) {
        for ((p, v), &g) in param.iter_mut().zip(velocity).zip(grad) {
            *v = *v * self.mu + self.lr * (g + self.decay * *p);
            *p -= *v;
        }
    }
}

#[test]
fn lars_momentum() {
    use crate::testing::{check, tensor};
    let case = |param: &[f32], expected: &[f32]| {
        check("lars_momentum")
            .input("Param", tensor([2], param))
            .input("Grad", tensor([2], &[0.0, 2.5]))
            .input("Velocity", tensor([2], &[2.0, 0.0]))
            .input("LearningRate", tensor([1], &[2.0]))
            .attr("mu", 0.5f32)
            .attr("lars_coeff", 0.5f32)
            .attr("lars_weight_decay", 0.5f32)
            .output("VelocityOut", tensor([2], expected))
            .output("ParamOut", tensor([2], &[param[0] - expected[0], param[1] - expected[1]]))
            .run();
    };
    // |p| = 5, |g| = 2.5: the rate is 2 * 0.5 * 5 / (2.5 + 0.5 * 5) = 1.
    case(&[3.0, 4.0], &[2.5, 4.5]);
    case(&[0.0, 0.0], &[1.0, 5.0]);
}
