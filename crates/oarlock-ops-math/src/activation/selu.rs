//! `selu`: self-normalising elu, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Selu>::OP, &UnaryGrad::<Selu>::OP];

#[derive(Clone, Copy, Default)]
struct Selu {
    scale: f32,
    alpha: f32,
}

impl Formula for Selu {
    const OP: &'static str = "selu";
    const GRAD_OP: &'static str = "selu_grad";
    const DOC: &'static str = "Out = scale * X where X > 0, else scale * alpha * (exp(X) - 1)";
    const GRAD_DOC: &'static str = "X@GRAD = scale * Out@GRAD where Out > 0, else (Out + scale * alpha) * Out@GRAD";
    const GRAD_READS: Reads = Reads::Out;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("scale", 1.050_701_f32, "slope above 0").attr("alpha", 1.673_263_2_f32, "depth below 0")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Selu { scale: attrs.f32("scale")?, alpha: attrs.f32("alpha")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        let (scale, alpha) = (T::of(self.scale.into()), T::of(self.alpha.into()));
        if x > T::ZERO { scale * x } else { scale * alpha * (x.fast_exp() - T::ONE) }
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        let (scale, alpha) = (T::of(self.scale.into()), T::of(self.alpha.into()));
        if out > T::ZERO { scale * dout } else { (out + scale * alpha) * dout }
    }
}

#[test]
fn selu() {
    crate::unary::formula::check_values(
        "selu",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-1.5201665, -0.6917582, 0.26267526, 3.152103],
    );
}
