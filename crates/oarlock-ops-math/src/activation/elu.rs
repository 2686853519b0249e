//! `elu`: x, but alpha * (exp(x) - 1) below 0, element by element.

use oarlock_ir::{AttrView, Grad, OpDef, Result, Sig};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_tensor::Float;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Elu>::OP, &UnaryGrad::<Elu>::OP, &GradGrad::<Elu>::OP];

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

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<Elu>(g)
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        if x > T::ZERO { dout } else { dout * T::of(self.alpha.into()) * x.fast_exp() }
    }
}

impl DoubleGradient for Elu {
    const TYPE: &'static str = "elu_grad_grad";
    const DOC: &'static str =
        "DDOut = DDX * the slope of elu at X; DX = DOut * DDX * alpha * exp(X) where X < 0, else 0";
    const READS: &'static [&'static str] = &["X", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DX", Of::X)];
    const ALPHA: Option<f32> = Some(1.0);

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        if p.x > T::ZERO {
            return [p.ddx, T::ZERO, T::ZERO];
        }
        let bent = p.ddx * p.alpha * p.x.exp();
        [bent, p.dout * bent, T::ZERO]
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
