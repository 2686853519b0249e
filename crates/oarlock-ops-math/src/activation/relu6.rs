//! `relu6`: max(x, 0) cut off at a threshold, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Relu6>::OP, &UnaryGrad::<Relu6>::OP];

#[derive(Clone, Copy, Default)]
struct Relu6 {
    threshold: f32,
}

impl Formula for Relu6 {
    const OP: &'static str = "relu6";
    const GRAD_OP: &'static str = "relu6_grad";
    const DOC: &'static str = "Out = min(max(X, 0), threshold)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where 0 < Out < threshold, else 0";
    const GRAD_READS: Reads = Reads::Out;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 6.0f32, "the largest output")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Relu6 { threshold: attrs.f32("threshold")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x.max(T::ZERO).min(T::of(self.threshold.into()))
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        if out > T::ZERO && out < T::of(self.threshold.into()) { dout } else { T::ZERO }
    }
}

#[test]
fn relu6() {
    crate::unary::formula::check_values("relu6", &[-2.0, 0.5, 5.0, 7.0], &[0.0, 0.5, 5.0, 6.0]);
}
