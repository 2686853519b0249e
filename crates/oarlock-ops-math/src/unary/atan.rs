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
    use crate::testing::{check, tensor};
    check("atan")
        .input("X", tensor([3], &[-2.0, -0.25, 0.625]))
        .output("Out", tensor([3], &[-1.1071488, -0.24497867, 0.5585993]))
        .grad(&["X"])
        .run();
}
