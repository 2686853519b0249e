//! `softplus`: ln(1 + exp(x)), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Softplus>::OP, &UnaryGrad::<Softplus>::OP];

#[derive(Clone, Copy, Default)]
struct Softplus;

impl Formula for Softplus {
    const OP: &'static str = "softplus";
    const GRAD_OP: &'static str = "softplus_grad";
    const DOC: &'static str = "Out = ln(1 + exp(X))";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (1 + exp(-X))";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.max(T::ZERO) + (-x.abs()).fast_exp().ln_1p()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / (T::ONE + (-x).fast_exp())
    }
}

#[test]
fn softplus() {
    crate::unary::formula::check_values(
        "softplus",
        &[-2.0, -0.5, 0.25, 3.0],
        &[0.12692802, 0.474077, 0.8259394, 3.0485873],
    );
}
