//! `round`: the nearest integer, element by element; halves go away from 0.

use oarlock_ir::OpDef;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Round>::OP, &UnaryGrad::<Round>::OP];

#[derive(Clone, Copy, Default)]
struct Round;

impl Formula for Round {
    const OP: &'static str = "round";
    const GRAD_OP: &'static str = "round_grad";
    const DOC: &'static str = "Out = X rounded to the nearest integer, halves away from 0";
    const GRAD_DOC: &'static str = "X@GRAD = 0";
    const GRAD_READS: Reads = Reads::Nothing;

    fn value<T: Math>(self, x: T) -> T {
        x.round()
    }

    fn grad<T: Math>(self, _at: T, _dout: T) -> T {
        T::ZERO
    }
}

#[test]
fn round() {
    use crate::testing::{check, tensor};
    check("round")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5]))
        .output("Out", tensor([4], &[-2.0, -0.0, 1.0, 3.0]))
        .run();
    // Between its jumps it is constant.
    check("round").input("X", tensor([4], &[-1.25, -0.25, 0.75, 2.25])).any_output("Out").grad(&["X"]).run();
}
