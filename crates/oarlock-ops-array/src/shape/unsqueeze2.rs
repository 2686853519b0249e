//! `unsqueeze2`: inserts axes of size 1; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::OpDef;

use super::unsqueeze::Unsqueeze;
use crate::shape::reshaping::{Second, SecondGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Second::<Unsqueeze>::OP, &SecondGrad::<Unsqueeze>::OP];

#[test]
fn unsqueeze2() {
    use crate::testing::{check, tensor};
    check("unsqueeze2")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("axes", vec![0, 3])
        .output("Out", tensor([1, 2, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .output("XShape", tensor([0, 2, 3], &[]))
        .grad(&["X"])
        .run();
}
