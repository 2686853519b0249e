//! `sin`: sine, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Sin>::OP, &UnaryGrad::<Sin>::OP];

#[derive(Clone, Copy, Default)]
struct Sin;

impl Formula for Sin {
    const OP: &'static str = "sin";
    const GRAD_OP: &'static str = "sin_grad";
    const DOC: &'static str = "Out = sin(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * cos(X)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.sin()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout * x.cos()
    }
}

#[test]
fn sin() {
    crate::unary::formula::check_values("sin", &[-2.0, -0.5, 0.0, 3.0], &[-0.9092974, -0.47942555, 0.0, 0.14112]);
}
