//! `log1p`: ln(1 + x), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Log1p>::OP, &UnaryGrad::<Log1p>::OP];

#[derive(Clone, Copy, Default)]
struct Log1p;

impl Formula for Log1p {
    const OP: &'static str = "log1p";
    const GRAD_OP: &'static str = "log1p_grad";
    const DOC: &'static str = "Out = ln(1 + X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (1 + X)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.ln_1p()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / (T::ONE + x)
    }
}

#[test]
fn log1p() {
    crate::unary::formula::check_values("log1p", &[-0.25, 0.25, 3.0], &[-0.2876821, 0.22314355, 1.3862944]);
}
