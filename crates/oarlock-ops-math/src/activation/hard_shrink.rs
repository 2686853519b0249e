//! `hard_shrink`: x, but 0 where it is small, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<HardShrink>::OP, &UnaryGrad::<HardShrink>::OP];

#[derive(Clone, Copy, Default)]
struct HardShrink {
    threshold: f32,
}

impl Formula for HardShrink {
    const OP: &'static str = "hard_shrink";
    const GRAD_OP: &'static str = "hard_shrink_grad";
    const DOC: &'static str = "Out = X where |X| > threshold, else 0";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where |X| > threshold, else 0";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 0.5f32, "what counts as small")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(HardShrink { threshold: attrs.f32("threshold")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        if x.abs() > T::of(self.threshold.into()) { x } else { T::ZERO }
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x.abs() > T::of(self.threshold.into()) { dout } else { T::ZERO }
    }
}

#[test]
fn hard_shrink() {
    crate::unary::formula::check_values("hard_shrink", &[-2.0, -0.25, 0.25, 3.0], &[-2.0, 0.0, 0.0, 3.0]);
}
