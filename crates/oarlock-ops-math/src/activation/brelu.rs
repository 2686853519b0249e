//! `brelu`: x cut off at two bounds, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Brelu>::OP, &UnaryGrad::<Brelu>::OP];

#[derive(Clone, Copy, Default)]
struct Brelu {
    t_min: f32,
    t_max: f32,
}

impl Formula for Brelu {
    const OP: &'static str = "brelu";
    const GRAD_OP: &'static str = "brelu_grad";
    const DOC: &'static str = "Out = max(min(X, t_max), t_min)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where t_min < X < t_max, else 0";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("t_min", 0.0f32, "lower bound").attr("t_max", 24.0f32, "upper bound")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Brelu { t_min: attrs.f32("t_min")?, t_max: attrs.f32("t_max")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x.min(T::of(self.t_max.into())).max(T::of(self.t_min.into()))
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x > T::of(self.t_min.into()) && x < T::of(self.t_max.into()) { dout } else { T::ZERO }
    }
}

#[test]
fn brelu() {
    use crate::testing::{check, tensor};
    check("brelu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("t_min", -1.0f32)
        .attr("t_max", 1.5f32)
        .output("Out", tensor([4], &[-1.0, -0.5, 0.25, 1.5]))
        .grad(&["X"])
        .run();
}
