//! `tanh_shrink`: x - tanh(x), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<TanhShrink>::OP, &UnaryGrad::<TanhShrink>::OP];

#[derive(Clone, Copy, Default)]
struct TanhShrink;

impl Formula for TanhShrink {
    const OP: &'static str = "tanh_shrink";
    const GRAD_OP: &'static str = "tanh_shrink_grad";
    const DOC: &'static str = "Out = X - tanh(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * tanh(X)^2";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x - x.fast_tanh()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let t = x.fast_tanh();
        dout * t * t
    }
}

#[test]
fn tanh_shrink() {
    crate::unary::formula::check_values(
        "tanh_shrink",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-1.0359725, -0.037882842, 0.0050813374, 2.0049453],
    );
}
