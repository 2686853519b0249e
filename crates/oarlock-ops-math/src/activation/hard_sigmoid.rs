//! `hard_sigmoid`: slope * x + offset cut off at 0 and 1, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<HardSigmoid>::OP, &UnaryGrad::<HardSigmoid>::OP];

#[derive(Clone, Copy, Default)]
struct HardSigmoid {
    slope: f32,
    offset: f32,
}

impl Formula for HardSigmoid {
    const OP: &'static str = "hard_sigmoid";
    const GRAD_OP: &'static str = "hard_sigmoid_grad";
    const DOC: &'static str = "Out = max(min(slope * X + offset, 1), 0)";
    const GRAD_DOC: &'static str = "X@GRAD = slope * Out@GRAD where 0 < Out < 1, else 0";
    const GRAD_READS: Reads = Reads::Out;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("slope", 0.2f32, "slope between the bounds").attr("offset", 0.5f32, "value at 0")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(HardSigmoid { slope: attrs.f32("slope")?, offset: attrs.f32("offset")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        (x * T::of(self.slope.into()) + T::of(self.offset.into())).min(T::ONE).max(T::ZERO)
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        if out > T::ZERO && out < T::ONE { dout * T::of(self.slope.into()) } else { T::ZERO }
    }
}

#[test]
fn hard_sigmoid() {
    crate::unary::formula::check_values("hard_sigmoid", &[-4.0, -0.5, 0.25, 3.5], &[0.0, 0.4, 0.55, 1.0]);
}
