//! `floor`: the largest integer not above x, element by element.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Floor>::OP, &UnaryGrad::<Floor>::OP];

#[derive(Clone, Copy, Default)]
struct Floor;

impl Formula for Floor {
    const OP: &'static str = "floor";
    const GRAD_OP: &'static str = "floor_grad";
    const DOC: &'static str = "Out = floor(X)";
    const GRAD_DOC: &'static str = "X@GRAD = 0";
    const GRAD_READS: Reads = Reads::Nothing;

    fn value<T: Math>(self, x: T) -> T {
        x.floor()
    }

    fn grad<T: Math>(self, _at: T, _dout: T) -> T {
        T::ZERO
    }
}

#[test]
fn floor() {
    use crate::testing::{check, tensor};
    check("floor")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.0]))
        .output("Out", tensor([4], &[-2.0, -1.0, 0.0, 2.0]))
        .run();
    // Between its jumps it is constant.
    check("floor").input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5])).any_output("Out").grad(&["X"]).run();
}
