//! `cos`: cosine, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Cos>::OP, &UnaryGrad::<Cos>::OP];

#[derive(Clone, Copy, Default)]
struct Cos;

impl Formula for Cos {
    const OP: &'static str = "cos";
    const GRAD_OP: &'static str = "cos_grad";
    const DOC: &'static str = "Out = cos(X)";
    const GRAD_DOC: &'static str = "X@GRAD = -Out@GRAD * sin(X)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.cos()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        -dout * x.sin()
    }
}

#[test]
fn cos() {
    crate::unary::formula::check_values("cos", &[-2.0, -0.5, 0.0, 3.0], &[-0.41614684, 0.87758255, 1.0, -0.9899925]);
}
