//! `acos`: inverse cosine, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Acos>::OP, &UnaryGrad::<Acos>::OP];

#[derive(Clone, Copy, Default)]
struct Acos;

impl Formula for Acos {
    const OP: &'static str = "acos";
    const GRAD_OP: &'static str = "acos_grad";
    const DOC: &'static str = "Out = acos(X)";
    const GRAD_DOC: &'static str = "X@GRAD = -Out@GRAD / sqrt(1 - X^2)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.acos()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        -dout / (T::ONE - x * x).sqrt()
    }
}

#[test]
fn acos() {
    crate::unary::formula::check_values("acos", &[-0.75, -0.25, 0.625], &[2.4188583, 1.8234766, 0.8956648]);
}
