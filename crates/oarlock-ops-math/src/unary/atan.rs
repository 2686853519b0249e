//! `atan`: inverse tangent, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Atan>::OP, &UnaryGrad::<Atan>::OP];

#[derive(Clone, Copy, Default)]
struct Atan;

impl Formula for Atan {
    const OP: &'static str = "atan";
    const GRAD_OP: &'static str = "atan_grad";
    const DOC: &'static str = "Out = atan(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (1 + X^2)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.atan()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / (T::ONE + x * x)
    }
}

#[test]
fn atan() {
    crate::unary::formula::check_values("atan", &[-2.0, -0.25, 0.625], &[-1.1071488, -0.24497867, 0.5585993]);
}
