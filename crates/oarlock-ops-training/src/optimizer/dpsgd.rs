//! `dpsgd`: gradient descent with differential privacy: clipped gradients plus noise.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, checked_kernel, sig};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::Float;
use oarlock_tensor::rng::MinStd;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Scratch, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Dpsgd];

struct Dpsgd;

impl OpDef for Dpsgd {
    sig! {
        "dpsgd":
            "p -= lr * (g / max(|g| / clip, 1) + noise / batch_size); the noise is one number per step, normal with deviation sigma";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        attr "clip" = 10.0f32, "largest norm of the gradient";
        attr "batch_size" = 16.0f32, "the noise is divided by it";
        attr "sigma" = 1.0f32, "deviation of the noise";
        attr "seed" = 0, "of the noise; 0 for another one in each step";
        traits Traits::NONE.in_place(&[PARAM]).whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [], Sparse::Unsupported)?;
        let (lr, a) = (p.input("LearningRate")?, p.attrs());
        let (clip, batch, sigma, seed) = (a.f32("clip")?, a.f32("batch_size")?, a.f32("sigma")?, a.int("seed")?);
        by_float!(p.float("Param")?, T => {
            let mut scratch = Scratch::new();
            checked_kernel(
                move |io| {
                    io.scalar(lr)?;
                    update.check::<T>(io)
                },
                move |io| {
                    let (_, norm) = update.norms::<T>(io)?;
                    let clip = T::of(clip as f64);
                    let seed = seed_or_fresh(io, seed);
                    let rule = DpsgdRule {
                        lr: T::of(io.scalar(lr)?),
                        shrink: if norm > clip { norm / clip } else { T::ONE },
                        noise: T::of((noise(seed) * sigma / batch) as f64),
                    };
                    update.apply(io, &rule, &mut scratch)
                },
            )
        })
    }
}

/// One number of the standard normal distribution, by the polar method in the order saved runs expect.
fn noise(seed: u64) -> f32 {
    let mut engine = MinStd::new(seed);
    loop {
        let (x, y) = (engine.uniform_f32(-1.0, 1.0), engine.uniform_f32(-1.0, 1.0));
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// The update once the norm and the noise are known.
struct DpsgdRule<T> {
    lr: T,
    shrink: T,
    noise: T,
}

impl<T: Float> RowRule<T, 0> for DpsgdRule<T> {
    fn update(&self, param: &mut [T], []: [&mut [T]; 0], grad: &[T]) {
        for (p, &g) in param.iter_mut().zip(grad) {
            *p -= self.lr * (g / self.shrink + self.noise);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn dpsgd() -> Check {
        check("dpsgd").input("Param", tensor([2], &[0.0, 1.0])).input("LearningRate", tensor([1], &[1.0]))
    }

    #[test]
    fn the_gradient_is_clipped() {
        dpsgd()
            .input("Grad", tensor([2], &[3.0, 4.0]))
            .attr("clip", 2.5f32)
            .attr("sigma", 0.0f32)
            .output("ParamOut", tensor([2], &[-1.5, -1.0]))
            .run();
    }

    /// The noise of seeds 1 and 7 as PaddlePaddle 1.8.5 draws it.
    #[test]
    fn the_noise_of_a_seed() {
        for (seed, noise) in [(1, 0.230_684_52f32), (7, -0.748_223_7)] {
            dpsgd()
                .input("Grad", tensor([2], &[0.0, 0.0]))
                .attr("batch_size", 2.0f32)
                .attr("sigma", 4.0f32)
                .attr("seed", seed)
                .output("ParamOut", tensor([2], &[-2.0 * noise, 1.0 - 2.0 * noise]))
                .run();
        }
    }
}
