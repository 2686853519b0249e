//! `abs`: absolute value, element by element.

use oarlock_ir::OpDef;
use oarlock_ops_support::pointwise::sign;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Abs>::OP, &UnaryGrad::<Abs>::OP];

#[derive(Clone, Copy, Default)]
struct Abs;

impl Formula for Abs {
    const OP: &'static str = "abs";
    const GRAD_OP: &'static str = "abs_grad";
    const DOC: &'static str = "Out = |X|";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * sign(X), 0 at 0";
    const GRAD_READS: Reads = Reads::X;
    const INTEGER: Option<fn(i64) -> i64> = Some(i64::wrapping_abs);

    fn value<T: Math>(self, x: T) -> T {
        x.abs()
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout * sign(x)
    }
}

#[test]
fn abs() {
    crate::unary::formula::check_values("abs", &[-1.5, 0.5, 2.0], &[1.5, 0.5, 2.0]);
}
