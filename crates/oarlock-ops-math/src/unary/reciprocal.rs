//! `reciprocal`: 1 / x, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Reciprocal>::OP, &UnaryGrad::<Reciprocal>::OP];

#[derive(Clone, Copy, Default)]
struct Reciprocal;

impl Formula for Reciprocal {
    const OP: &'static str = "reciprocal";
    const GRAD_OP: &'static str = "reciprocal_grad";
    const DOC: &'static str = "Out = 1 / X";
    const GRAD_DOC: &'static str = "X@GRAD = -Out@GRAD * Out^2";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        T::ONE / x
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        -dout * out * out
    }
}

#[test]
fn reciprocal() {
    crate::unary::formula::check_values("reciprocal", &[-0.5, 0.75, 4.0], &[-2.0, 1.3333334, 0.25]);
}
