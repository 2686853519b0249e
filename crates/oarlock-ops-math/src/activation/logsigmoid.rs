//! `logsigmoid`: ln(sigmoid(x)), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Logsigmoid>::OP, &UnaryGrad::<Logsigmoid>::OP];

#[derive(Clone, Copy, Default)]
struct Logsigmoid;

impl Formula for Logsigmoid {
    const OP: &'static str = "logsigmoid";
    const GRAD_OP: &'static str = "logsigmoid_grad";
    const DOC: &'static str = "Out = ln(1 / (1 + exp(-X)))";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (1 + exp(X))";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.min(T::ZERO) - (-x.abs()).fast_exp().ln_1p()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / (T::ONE + x.fast_exp())
    }
}

#[test]
fn logsigmoid() {
    crate::unary::formula::check_values(
        "logsigmoid",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-2.126928, -0.974077, -0.5759394, -0.048587352],
    );
}
