//! `exp`: e^x, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::{self, Math};

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Exp>::OP, &UnaryGrad::<Exp>::OP];

#[derive(Clone, Copy, Default)]
struct Exp;

impl Formula for Exp {
    const OP: &'static str = "exp";
    const GRAD_OP: &'static str = "exp_grad";
    const DOC: &'static str = "Out = exp(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * Out";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        x.fast_exp()
    }

    fn values<T: Math>(self, out: &mut [T], x: &[T]) {
        simd::exp(out, x);
    }

    fn values_in_place<T: Math>(self, x: &mut [T]) {
        simd::exp_assign(x);
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        dout * out
    }
}

#[test]
fn exp() {
    crate::unary::formula::check_values("exp", &[-2.0, -0.5, 0.0, 1.5], &[0.13533528, 0.60653067, 1.0, 4.481689]);
}
