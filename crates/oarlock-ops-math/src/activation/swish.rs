//! `swish`: x * sigmoid(beta * x), element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Swish>::OP, &UnaryGrad::<Swish>::OP];

#[derive(Clone, Copy, Default)]
struct Swish {
    beta: f32,
}

impl Formula for Swish {
    const OP: &'static str = "swish";
    const GRAD_OP: &'static str = "swish_grad";
    const DOC: &'static str = "Out = X / (1 + exp(-beta * X))";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * (beta * Out + s * (1 - beta * Out)) with s = sigmoid(beta * X)";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("beta", 1.0f32, "steepness")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Swish { beta: attrs.f32("beta")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        x / (T::ONE + (-T::of(self.beta.into()) * x).fast_exp())
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let beta = T::of(self.beta.into());
        let s = T::ONE / (T::ONE + (-beta * x).fast_exp());
        let out = x * s;
        dout * (beta * out + s * (T::ONE - beta * out))
    }
}

#[test]
fn swish() {
    use crate::testing::{check, tensor};
    check("swish")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("beta", 0.5f32)
        .output("Out", tensor([4], &[-0.53788286, -0.21891175, 0.13280234, 2.4527235]))
        .grad(&["X"])
        .run();
}
