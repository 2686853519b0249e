//! `log`: natural logarithm, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::{self, Math};

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Log>::OP, &UnaryGrad::<Log>::OP];

#[derive(Clone, Copy, Default)]
struct Log;

impl Formula for Log {
    const OP: &'static str = "log";
    const GRAD_OP: &'static str = "log_grad";
    const DOC: &'static str = "Out = ln(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / X";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x.fast_ln()
    }

    fn values<T: Math>(self, out: &mut [T], x: &[T]) {
        simd::ln(out, x);
    }

    fn values_in_place<T: Math>(self, x: &mut [T]) {
        simd::ln_assign(x);
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout / x
    }
}

#[test]
fn log() {
    crate::unary::formula::check_values("log", &[0.25, 1.5, 4.5], &[-1.3862944, 0.4054651, 1.5040774]);
}
