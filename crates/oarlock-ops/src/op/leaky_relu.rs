//! `leaky_relu`: x, but alpha * x below 0, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<LeakyRelu>::OP, &UnaryGrad::<LeakyRelu>::OP];

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

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        if out > T::ZERO { dout } else { T::of(self.alpha.into()) * dout }
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
