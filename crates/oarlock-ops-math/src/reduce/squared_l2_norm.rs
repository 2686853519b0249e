//! `squared_l2_norm`: the sum of squares.

use oarlock_ir::OpDef;
use oarlock_tensor::{Float, simd};

use crate::reduce::whole_sum::{Total, Totalled, TotalledGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Totalled::<Squares>::OP, &TotalledGrad::<Squares>::OP];

struct Squares;

impl Total for Squares {
    const TYPES: [&'static str; 2] = ["squared_l2_norm", "squared_l2_norm_grad"];
    const DOCS: [&'static str; 2] = ["Out = sum of X^2", "X@GRAD = 2 * X * Out@GRAD"];

    fn sum<T: Float>(x: &[T]) -> T {
        simd::sum_of_squares(x)
    }

    fn slope<T: Float>(x: T) -> T {
        x + x
    }
}

#[test]
fn squared_l2_norm() {
    use crate::testing::{check, tensor};
    check("squared_l2_norm")
        .input("X", tensor([2, 2], &[1.0, -2.0, 0.5, 3.0]))
        .output("Out", tensor([1], &[14.25]))
        .grad(&["X"])
        .run();
}
