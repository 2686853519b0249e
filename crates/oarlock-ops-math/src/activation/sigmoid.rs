//! `sigmoid`: 1 / (1 + exp(-x)), element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::{self, Math};

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Sigmoid>::OP, &UnaryGrad::<Sigmoid>::OP];

#[derive(Clone, Copy, Default)]
struct Sigmoid;

impl Formula for Sigmoid {
    const OP: &'static str = "sigmoid";
    const GRAD_OP: &'static str = "sigmoid_grad";
    const DOC: &'static str = "Out = 1 / (1 + exp(-X))";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * Out * (1 - Out)";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        x.fast_sigmoid()
    }

    fn values<T: Math>(self, out: &mut [T], x: &[T]) {
        simd::sigmoid(out, x);
    }

    fn values_in_place<T: Math>(self, x: &mut [T]) {
        simd::sigmoid_assign(x);
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        dout * out * (T::ONE - out)
    }
}

#[test]
fn sigmoid() {
    crate::unary::formula::check_values("sigmoid", &[-2.0, -0.5, 0.0, 3.0], &[0.11920292, 0.37754068, 0.5, 0.95257413]);
}
