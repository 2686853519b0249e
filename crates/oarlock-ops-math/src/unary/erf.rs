//! `erf`: the error function, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::error_function;
use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Erf>::OP, &UnaryGrad::<Erf>::OP];

#[derive(Clone, Copy, Default)]
struct Erf;

impl Formula for Erf {
    const OP: &'static str = "erf";
    const GRAD_OP: &'static str = "erf_grad";
    const DOC: &'static str = "Out = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to X";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * 2 / sqrt(pi) * exp(-X^2)";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        error_function::erf(x)
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout * T::of(std::f64::consts::FRAC_2_SQRT_PI) * (-x * x).fast_exp()
    }
}

#[test]
fn erf() {
    crate::unary::formula::check_values(
        "erf",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-0.9953223, -0.5204999, 0.2763264, 0.9999779],
    );
}
