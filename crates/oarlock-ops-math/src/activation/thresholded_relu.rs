//! `thresholded_relu`: x above a threshold, else 0, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<ThresholdedRelu>::OP, &UnaryGrad::<ThresholdedRelu>::OP];

#[derive(Clone, Copy, Default)]
struct ThresholdedRelu {
    threshold: f32,
}

impl Formula for ThresholdedRelu {
    const OP: &'static str = "thresholded_relu";
    const GRAD_OP: &'static str = "thresholded_relu_grad";
    const DOC: &'static str = "Out = X where X > threshold, else 0";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where X > threshold, else 0";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 1.0f32, "what counts as large")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(ThresholdedRelu { threshold: attrs.f32("threshold")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        if x > T::of(self.threshold.into()) { x } else { T::ZERO }
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x > T::of(self.threshold.into()) { dout } else { T::ZERO }
    }
}

#[test]
fn thresholded_relu() {
    crate::unary::formula::check_values("thresholded_relu", &[-2.0, -0.5, 0.25, 3.0], &[0.0, 0.0, 0.0, 3.0]);
}
