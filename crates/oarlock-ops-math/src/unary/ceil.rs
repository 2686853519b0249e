//! `ceil`: the smallest integer not below x, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Ceil>::OP, &UnaryGrad::<Ceil>::OP];

#[derive(Clone, Copy, Default)]
struct Ceil;

impl Formula for Ceil {
    const OP: &'static str = "ceil";
    const GRAD_OP: &'static str = "ceil_grad";
    const DOC: &'static str = "Out = ceil(X)";
    const GRAD_DOC: &'static str = "X@GRAD = 0";
    const GRAD_READS: Reads = Reads::Nothing;

    fn value<T: Math>(self, x: T) -> T {
        x.ceil()
    }

    fn grad<T: Math>(self, _at: T, _dout: T) -> T {
        T::ZERO
    }
}

#[test]
fn ceil() {
    use crate::testing::{check, tensor};
    check("ceil")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.0]))
        .output("Out", tensor([4], &[-1.0, -0.0, 1.0, 2.0]))
        .run();
    // Between its jumps it is constant.
    check("ceil").input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5])).any_output("Out").grad(&["X"]).run();
}
