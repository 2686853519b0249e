//! `leaky_relu`: x, but alpha * x below 0, element by element.

use oarlock_ir::{AttrView, Grad, OpDef, Result, Sig};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_tensor::Float;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Unary::<LeakyRelu>::OP, &UnaryGrad::<LeakyRelu>::OP, &GradGrad::<LeakyRelu>::OP];

#[derive(Clone, Copy, Default)]
struct LeakyRelu {
    alpha: f32,
}

impl Formula for LeakyRelu {
    const OP: &'static str = "leaky_relu";
    const GRAD_OP: &'static str = "leaky_relu_grad";
    const DOC: &'static str = "Out = max(X, alpha * X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where Out > 0, else alpha * Out@GRAD";
    const GRAD_READS: Reads = Reads::Out;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("alpha", 0.02f32, "slope below 0")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(LeakyRelu { alpha: attrs.f32("alpha")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x.max(T::of(self.alpha.into()) * x)
    }

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<LeakyRelu>(g)
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        if out > T::ZERO { dout } else { T::of(self.alpha.into()) * dout }
    }
}

impl DoubleGradient for LeakyRelu {
    const TYPE: &'static str = "leaky_relu_grad_grad";
    const DOC: &'static str = "DDOut = DDX where Out > 0, else alpha * DDX";
    const READS: &'static [&'static str] = &["Out"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];
    const ALPHA: Option<f32> = Some(0.02);

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [if p.out > T::ZERO { p.ddx } else { p.alpha * p.ddx }, T::ZERO, T::ZERO]
    }
}

#[test]
fn leaky_relu() {
    use crate::testing::{check, tensor};
    check("leaky_relu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("alpha", 0.25f32)
        .output("Out", tensor([4], &[-0.5, -0.125, 0.25, 3.0]))
        .grad(&["X"])
        .run();
}
