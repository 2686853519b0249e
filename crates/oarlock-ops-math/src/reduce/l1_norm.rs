//! `l1_norm`: the sum of absolute values.

use oarlock_ir::OpDef;
use oarlock_ops_support::pointwise::sign;
use oarlock_tensor::Float;

use crate::reduce::whole_sum::{Total, Totalled, TotalledGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Totalled::<L1>::OP, &TotalledGrad::<L1>::OP];

struct L1;

impl Total for L1 {
    const TYPES: [&'static str; 2] = ["l1_norm", "l1_norm_grad"];
    const DOCS: [&'static str; 2] = ["Out = sum of |X|", "X@GRAD = sign(X) * Out@GRAD"];

    fn sum<T: Float>(x: &[T]) -> T {
        x.iter().map(|v| v.abs()).sum()
    }

    fn slope<T: Float>(x: T) -> T {
        sign(x)
    }
}

#[test]
fn l1_norm() {
    use crate::testing::{check, tensor};
    check("l1_norm")
        .input("X", tensor([2, 2], &[1.0, -2.0, 0.5, 3.0]))
        .output("Out", tensor([1], &[6.5]))
        .grad(&["X"])
        .run();
}
