//! `soft_relu`: ln(1 + exp(x)) with x cut off at a threshold, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<SoftRelu>::OP, &UnaryGrad::<SoftRelu>::OP];

#[derive(Clone, Copy, Default)]
struct SoftRelu {
    threshold: f32,
}

impl Formula for SoftRelu {
    const OP: &'static str = "soft_relu";
    const GRAD_OP: &'static str = "soft_relu_grad";
    const DOC: &'static str = "Out = ln(1 + exp(max(min(X, threshold), -threshold)))";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * (1 - exp(-Out)) where -threshold < Out < threshold, else 0";
    const GRAD_READS: Reads = Reads::Out;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 40.0f32, "largest magnitude of the input")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(SoftRelu { threshold: attrs.f32("threshold")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        let threshold = T::of(self.threshold.into());
        x.max(-threshold).min(threshold).fast_exp().ln_1p()
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        let threshold = T::of(self.threshold.into());
        if out > -threshold && out < threshold { dout * (T::ONE - (-out).fast_exp()) } else { T::ZERO }
    }
}

#[test]
fn soft_relu() {
    crate::unary::formula::check_values(
        "soft_relu",
        &[-2.0, -0.5, 0.25, 3.0],
        &[0.12692802, 0.474077, 0.8259394, 3.0485873],
    );
}
