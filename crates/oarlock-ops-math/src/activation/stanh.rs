//! `stanh`: scaled hyperbolic tangent, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Stanh>::OP, &UnaryGrad::<Stanh>::OP];

#[derive(Clone, Copy, Default)]
struct Stanh {
    scale_a: f32,
    scale_b: f32,
}

impl Formula for Stanh {
    const OP: &'static str = "stanh";
    const GRAD_OP: &'static str = "stanh_grad";
    const DOC: &'static str = "Out = scale_b * tanh(scale_a * X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * scale_a * scale_b * (1 - tanh(scale_a * X)^2)";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("scale_a", 0.67f32, "factor of the input").attr("scale_b", 1.7159f32, "factor of the output")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Stanh { scale_a: attrs.f32("scale_a")?, scale_b: attrs.f32("scale_b")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        T::of(self.scale_b.into()) * (T::of(self.scale_a.into()) * x).fast_tanh()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let (a, b) = (T::of(self.scale_a.into()), T::of(self.scale_b.into()));
        let t = (a * x).fast_tanh();
        dout * a * b * (T::ONE - t * t)
    }
}

#[test]
fn stanh() {
    use crate::testing::{check, tensor};
    check("stanh")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("scale_a", 0.5f32)
        .attr("scale_b", 1.5f32)
        .output("Out", tensor([4], &[-1.1423912, -0.367378, 0.1865295, 1.3577224]))
        .grad(&["X"])
        .run();
}
