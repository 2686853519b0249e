//! `proximal_adagrad`: adagrad followed by L1 and L2 shrinking.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, sig};
use oarlock_tensor::Float;

use crate::optimizer::proximal_gd::Shrink;
use crate::optimizer::row_rule::{self, PARAM, RowRule, Sparse, Update};

pub(crate) const OPS: &[&dyn OpDef] = &[&ProximalAdagrad];

const MOMENT: (&str, &str) = ("Moment", "MomentOut");

struct ProximalAdagrad;

impl OpDef for ProximalAdagrad {
    sig! {
        "proximal_adagrad": "m += g^2; q = p - lr * g / sqrt(m); p = sign(q) * max(|q| - lr * l1, 0) / (1 + lr * l2)";
        in "Param": "the parameter";
        in "Moment": "sum of squared gradients, like `Param`";
        in "Grad": "gradient of `Param`";
        in "LearningRate": "one number";
        out "ParamOut": "the parameter, updated";
        out "MomentOut": "updated";
        attr "l1" = 0.0f32, "weight of the sum of absolute values";
        attr "l2" = 0.0f32, "weight of the sum of squares";
        traits Traits::NONE.in_place(&[PARAM, MOMENT]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        row_rule::infer(cx, &[MOMENT])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let update = Update::new(p, [MOMENT], Sparse::Unsupported)?;
        let (lr, l1, l2) = (p.input("LearningRate")?, p.attrs().f32("l1")?, p.attrs().f32("l2")?);
        by_float!(p.float("Param")?, T => update.kernel::<T, _>(move |io| {
            let lr = T::of(io.scalar(lr)?);
            Ok(ProximalAdagradRule { lr, shrink: Shrink::new(lr, l1, l2) })
        }))
    }
}

/// Proximal adagrad of one row.
struct ProximalAdagradRule<T> {
    lr: T,
    shrink: Shrink<T>,
}

impl<T: Float> RowRule<T, 1> for ProximalAdagradRule<T> {
    fn update(&self, param: &mut [T], [moment]: [&mut [T]; 1], grad: &[T]) {
        for ((p, m), &g) in param.iter_mut().zip(moment).zip(grad) {
            *m += g * g;
            *p = self.shrink.apply(*p - self.lr * g / m.sqrt());
        }
    }
}

#[test]
fn proximal_adagrad() {
    use crate::testing::{check, tensor};
    check("proximal_adagrad")
        .input("Param", tensor([2], &[3.0, -1.0]))
        .input("Moment", tensor([2], &[0.0, 3.0]))
        .input("Grad", tensor([2], &[2.0, -1.0]))
        .input("LearningRate", tensor([1], &[0.5]))
        .attr("l1", 1.0f32)
        .attr("l2", 2.0f32)
        .output("MomentOut", tensor([2], &[4.0, 4.0]))
        .output("ParamOut", tensor([2], &[1.0, -0.125]))
        .run();
}
