//! `reshape2`: the same elements under other sizes; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::OpDef;

use super::reshape::Reshape;
use crate::reform::{Second, SecondGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Second::<Reshape>::OP, &SecondGrad::<Reshape>::OP];

#[test]
fn reshape2() {
    use crate::testing::{check, tensor};
    check("reshape2")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("shape", vec![-1])
        .output("Out", tensor([6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .output("XShape", tensor([0, 2, 3], &[]))
        .grad(&["X"])
        .run();
}
