//! `softshrink`: x moved towards 0 by lambda, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Softshrink>::OP, &UnaryGrad::<Softshrink>::OP];

#[derive(Clone, Copy, Default)]
struct Softshrink {
    lambda: f32,
}

impl Formula for Softshrink {
    const OP: &'static str = "softshrink";
    const GRAD_OP: &'static str = "softshrink_grad";
    const DOC: &'static str = "Out = X - lambda where X > lambda, X + lambda where X < -lambda, else 0";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where |X| > lambda, else 0";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("lambda", 0.5f32, "how far")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Softshrink { lambda: attrs.f32("lambda")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        let lambda = T::of(self.lambda.into());
        if x > lambda {
            x - lambda
        } else if x < -lambda {
            x + lambda
        } else {
            T::ZERO
        }
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x.abs() > T::of(self.lambda.into()) { dout } else { T::ZERO }
    }
}

#[test]
fn softshrink() {
    use crate::testing::{check, tensor};
    check("softshrink")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .output("Out", tensor([4], &[-1.5, 0.0, 0.0, 2.5]))
        .run();
    check("softshrink").input("X", tensor([3], &[-2.0, 0.25, 3.0])).any_output("Out").grad(&["X"]).run();
}
