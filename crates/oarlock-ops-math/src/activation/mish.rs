//! `mish`: x * tanh(softplus(x)), element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Mish>::OP, &UnaryGrad::<Mish>::OP];

#[derive(Clone, Copy, Default)]
struct Mish {
    threshold: f32,
}

impl Formula for Mish {
    const OP: &'static str = "mish";
    const GRAD_OP: &'static str = "mish_grad";
    const DOC: &'static str =
        "Out = X * tanh(softplus(X)), with softplus(x) = x above the threshold and exp(x) below its negative";
    const GRAD_DOC: &'static str =
        "X@GRAD = Out@GRAD * (t + X * (1 - t^2) * sp) with t = tanh(softplus(X)) and sp the slope of softplus";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("threshold", 20.0f32, "beyond it softplus is taken for its asymptote")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Mish { threshold: attrs.f32("threshold")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x * self.softplus(x).fast_tanh()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let sp = self.softplus(x);
        let t = sp.fast_tanh();
        // The slope of softplus is 1 - exp(-softplus).
        dout * (t + x * (T::ONE - t * t) * (T::ONE - (-sp).fast_exp()))
    }
}

impl Mish {
    fn softplus<T: Math>(self, x: T) -> T {
        let threshold = T::of(self.threshold.into());
        if x > threshold {
            x
        } else if x < -threshold {
            x.fast_exp()
        } else {
            x.fast_exp().ln_1p()
        }
    }
}

#[test]
fn mish() {
    crate::unary::formula::check_values(
        "mish",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-0.2525015, -0.22074378, 0.16957241, 2.986535],
    );
}
