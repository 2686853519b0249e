//! `tanh`: hyperbolic tangent, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::{self, Math};

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Tanh>::OP, &UnaryGrad::<Tanh>::OP];

#[derive(Clone, Copy, Default)]
struct Tanh;

impl Formula for Tanh {
    const OP: &'static str = "tanh";
    const GRAD_OP: &'static str = "tanh_grad";
    const DOC: &'static str = "Out = tanh(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * (1 - Out^2)";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        x.fast_tanh()
    }

    fn values<T: Math>(self, out: &mut [T], x: &[T]) {
        simd::tanh(out, x);
    }

    fn values_in_place<T: Math>(self, x: &mut [T]) {
        simd::tanh_assign(x);
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        dout * (T::ONE - out * out)
    }
}

#[test]
fn tanh() {
    crate::unary::formula::check_values("tanh", &[-2.0, -0.5, 0.0, 3.0], &[-0.9640276, -0.46211717, 0.0, 0.9950548]);
}
