//! `proximal_gd`: gradient descent followed by L1 and L2 shrinking.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&ProximalGd];

struct ProximalGd;

impl OpDef for ProximalGd {
    sig! {
        "proximal_gd": "q = p - lr * g; p = sign(q) * max(|q| - lr * l1, 0) / (1 + lr * l2)";
        in "Param": "the parameter";
        in "Grad": "gradient of `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        attr "l1" = 0.0f32, "weight of the sum of absolute values";
        attr "l2" = 0.0f32, "weight of the sum of squares";
        traits Traits::NONE.in_place(&[PARAM]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [], Sparse::Unsupported)?;
        let (lr, l1, l2) = (p.input("LearningRate")?, p.attrs().f32("l1")?, p.attrs().f32("l2")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| {
            let lr = T::of(io.scalar(lr)?);
            Ok(ProximalGdRule { lr, shrink: Shrink::new(lr, l1, l2) })
        }))
    }
}

/// Moves a parameter towards zero, and to zero when it is near.
#[derive(Clone, Copy)]
pub(crate) struct Shrink<T> {
    by: T,
    scale: T,
}

impl<T: Float> Shrink<T> {
    /// For one step of these rates.
    pub(crate) fn new(lr: T, l1: f32, l2: f32) -> Shrink<T> {
        Shrink { by: lr * T::of(l1.max(0.0) as f64), scale: T::ONE + lr * T::of(l2 as f64) }
    }

    /// The parameter after it has moved.
    pub(crate) fn apply(self, q: T) -> T {
        let size = q.abs() - self.by;
        // Not `max`, which would turn a NaN into a zero.
        if size < T::ZERO {
            return T::ZERO;
        }
        if q < T::ZERO { -size / self.scale } else { size / self.scale }
    }
}

/// Proximal gradient descent of one row.
struct ProximalGdRule<T> {
    lr: T,
    shrink: Shrink<T>,
}

impl<T: Float> RowRule<T, 0> for ProximalGdRule<T> {
    fn update(&self, param: &mut [T], []: [&mut [T]; 0], grad: &[T]) {
        for (p, g) in param.iter_mut().zip(grad) {
            *p = self.shrink.apply(*p - self.lr * *g);
        }
    }
}

#[test]
fn proximal_gd() {
    use crate::testing::{check, tensor};
    check("proximal_gd")
        .input("Param", tensor([3], &[3.0, -3.0, 1.0]))
        .input("Grad", tensor([3], &[0.0, 1.0, 1.0]))
        .input("LearningRate", tensor([1], &[0.5]))
        .attr("l1", 2.0f32)
        .attr("l2", 2.0f32)
        .output("ParamOut", tensor([3], &[1.0, -1.25, 0.0]))
        .run();
}
