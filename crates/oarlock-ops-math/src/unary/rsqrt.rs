//! `rsqrt`: 1 / sqrt(x), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Rsqrt>::OP, &UnaryGrad::<Rsqrt>::OP];

#[derive(Clone, Copy, Default)]
struct Rsqrt;

impl Formula for Rsqrt {
    const OP: &'static str = "rsqrt";
    const GRAD_OP: &'static str = "rsqrt_grad";
    const DOC: &'static str = "Out = 1 / sqrt(X)";
    const GRAD_DOC: &'static str = "X@GRAD = -Out@GRAD * Out^3 / 2";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        T::ONE / x.sqrt()
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        T::of(-0.5) * dout * out * out * out
    }
}

#[test]
fn rsqrt() {
    crate::unary::formula::check_values("rsqrt", &[0.25, 1.5, 4.0], &[2.0, 0.8164966, 0.5]);
}
