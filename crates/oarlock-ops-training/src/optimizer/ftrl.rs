//! `ftrl`: follow the regularised leader, whose parameters can become exactly zero.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&Ftrl];

const SQUARED: (&str, &str) = ("SquaredAccumulator", "SquaredAccumOut");
const LINEAR: (&str, &str) = ("LinearAccumulator", "LinearAccumOut");

struct Ftrl;

impl OpDef for Ftrl {
    sig! {
        "ftrl":
            "n' = n + g^2; z += g - (n'^-lr_power - n^-lr_power) / lr * p; \
             p = (l1 * sign(z) - z) / (n'^-lr_power / lr + 2 * l2) where |z| > l1, else 0. Of a row-sparse gradient, repeated rows \
             are summed first and only the listed rows are updated";
        in "Param": "the parameter";
        in "SquaredAccumulator": "n, like `Param`";
        in "LinearAccumulator": "z, like `Param`";
        in "Grad": "gradient of `Param`, dense or row-sparse";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "SquaredAccumOut": "updated";
        out "LinearAccumOut": "updated";
        attr "l1" = 0.0f32, "weight of the sum of absolute values";
        attr "l2" = 0.0f32, "weight of the sum of squares";
        attr "lr_power" = -0.5f32, "how the step shrinks with the sum of squares";
        traits Traits::NONE.in_place(&[PARAM, SQUARED, LINEAR]).listed_rows();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[SQUARED, LINEAR])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [SQUARED, LINEAR], Sparse::Listed)?;
        let (lr, a) = (p.input("LearningRate")?, p.attrs());
        let (l1, l2, power) = (a.f32("l1")?, a.f32("l2")?, a.f32("lr_power")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| Ok(FtrlRule {
            lr: T::of(io.scalar(lr)?),
            l1: T::of(l1 as f64),
            l2: T::of(l2 as f64),
            power: T::of(power as f64),
        })))
    }
}

/// FTRL of one row.
struct FtrlRule<T> {
    lr: T,
    l1: T,
    l2: T,
    power: T,
}

impl<T: Float> FtrlRule<T> {
    /// n^-lr_power; the usual power is a square root, which is faster and exactly rounded.
    fn root(&self, n: T) -> T {
        if self.power == T::of(-0.5) { n.sqrt() } else { n.powf(-self.power) }
    }
}

impl<T: Float> RowRule<T, 2> for FtrlRule<T> {
    fn update(&self, param: &mut [T], [squared, linear]: [&mut [T]; 2], grad: &[T]) {
        let FtrlRule { lr, l1, l2, .. } = *self;
        for (((p, n), z), &g) in param.iter_mut().zip(squared).zip(linear).zip(grad) {
            let after = *n + g * g;
            let root = self.root(after);
            *z += g - (root - self.root(*n)) / lr * *p;
            *n = after;
            let sign = if *z > T::ZERO { T::ONE } else { -T::ONE };
            *p = if z.abs() > l1 { (l1 * sign - *z) / (root / lr + T::of(2.0) * l2) } else { T::ZERO };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn ftrl() -> Check {
        check("ftrl")
            .input("Param", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("SquaredAccumulator", tensor([3, 1], &[0.0, 4.0, 1.0]))
            .input("LinearAccumulator", tensor([3, 1], &[-2.0, 0.0, 0.5]))
            .input("LearningRate", tensor([1], &[0.5]))
            .attr("l1", 1.0f32)
            .attr("l2", 2.0f32)
            .output("SquaredAccumOut", tensor([3, 1], &[9.0, 4.0, 1.0]))
            .output("LinearAccumOut", tensor([3, 1], &[-5.0, 0.0, 0.5]))
    }

    #[test]
    fn dense() {
        let grad = tensor([3, 1], &[3.0, 0.0, 0.0]);
        ftrl().input("Grad", grad).output("ParamOut", tensor([3, 1], &[0.4, 0.0, 0.0])).run();
    }

    #[test]
    fn repeated_rows_are_summed_and_only_listed_rows_are_updated() {
        ftrl()
            .rows_input("Grad", &[0, 1, 0], 3, tensor([3, 1], &[1.0, 0.0, 2.0]))
            .output("ParamOut", tensor([3, 1], &[0.4, 0.0, 3.0]))
            .run();
    }
}
