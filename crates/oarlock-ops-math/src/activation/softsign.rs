//! `softsign`: x / (1 + |x|), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Softsign>::OP, &UnaryGrad::<Softsign>::OP];

#[derive(Clone, Copy, Default)]
struct Softsign;

impl Formula for Softsign {
    const OP: &'static str = "softsign";
    const GRAD_OP: &'static str = "softsign_grad";
    const DOC: &'static str = "Out = X / (1 + |X|)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (1 + |X|)^2";
    const GRAD_READS: Reads = Reads::X;

    fn value<T: Math>(self, x: T) -> T {
        x / (T::ONE + x.abs())
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let d = T::ONE + x.abs();
        dout / (d * d)
    }
}

#[test]
fn softsign() {
    crate::unary::formula::check_values("softsign", &[-2.0, -0.5, 0.25, 3.0], &[-0.6666667, -0.33333334, 0.2, 0.75]);
}
