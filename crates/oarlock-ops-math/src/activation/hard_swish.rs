//! `hard_swish`: x times a ramp from 0 to 1, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<HardSwish>::OP, &UnaryGrad::<HardSwish>::OP];

#[derive(Clone, Copy, Default)]
struct HardSwish {
    threshold: f32,
    scale: f32,
    offset: f32,
}

impl Formula for HardSwish {
    const OP: &'static str = "hard_swish";
    const GRAD_OP: &'static str = "hard_swish_grad";
    const DOC: &'static str = "Out = X * min(max(X + offset, 0), threshold) / scale";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD above the ramp, (2 X + offset) / scale * Out@GRAD on it, 0 below";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 6.0f32, "end of the ramp").attr("scale", 6.0f32, "divides the output").attr(
            "offset",
            3.0f32,
            "added to `X` before the ramp",
        )
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(HardSwish { threshold: attrs.f32("threshold")?, scale: attrs.f32("scale")?, offset: attrs.f32("offset")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        let [threshold, scale, offset] = [self.threshold, self.scale, self.offset].map(|v| T::of(v.into()));
        (x + offset).max(T::ZERO).min(threshold) * x / scale
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let [threshold, scale, offset] = [self.threshold, self.scale, self.offset].map(|v| T::of(v.into()));
        let ramp = x + offset;
        if ramp >= threshold {
            dout
        } else if ramp > T::ZERO {
            dout * (T::of(2.0) * x + offset) / scale
        } else {
            T::ZERO
        }
    }
}

#[test]
fn hard_swish() {
    crate::unary::formula::check_values("hard_swish", &[-4.0, -0.5, 0.25, 3.5], &[-0.0, -0.20833333, 0.13541667, 3.5]);
}
