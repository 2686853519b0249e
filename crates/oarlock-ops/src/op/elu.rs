//! `elu`: x, but alpha * (exp(x) - 1) below 0, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Elu>::OP, &UnaryGrad::<Elu>::OP];

#[derive(Clone, Copy, Default)]
struct Elu {
    alpha: f32,
}

impl Formula for Elu {
    const OP: &'static str = "elu";
    const GRAD_OP: &'static str = "elu_grad";
    const DOC: &'static str = "Out = max(X, 0) + min(alpha * (exp(X) - 1), 0)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where X > 0, else alpha * exp(X) * Out@GRAD";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("alpha", 1.0f32, "depth below 0")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Elu { alpha: attrs.f32("alpha")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x.max(T::ZERO) + (T::of(self.alpha.into()) * (x.fast_exp() - T::ONE)).min(T::ZERO)
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x > T::ZERO { dout } else { dout * T::of(self.alpha.into()) * x.fast_exp() }
    }
}

#[test]
fn elu() {
    use crate::testing::{check, tensor};
    check("elu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("alpha", 0.5f32)
        .output("Out", tensor([4], &[-0.43233237, -0.19673467, 0.25, 3.0]))
        .grad(&["X"])
        .run();
}
