//! `asin`: inverse sine, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Asin>::OP, &UnaryGrad::<Asin>::OP];

#[derive(Clone, Copy, Default)]
struct Asin;

impl Formula for Asin {
    const OP: &'static str = "asin";
    const GRAD_OP: &'static str = "asin_grad";
    const DOC: &'static str = "Out = asin(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / sqrt(1 - X^2)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.asin()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / (T::ONE - x * x).sqrt()
    }
}

#[test]
fn asin() {
    crate::unary::formula::check_values("asin", &[-0.75, -0.25, 0.625], &[-0.8480621, -0.25268024, 0.67513156]);
}
