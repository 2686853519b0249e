//! `squeeze2`: drops axes of size 1; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::OpDef;

use super::squeeze::Squeeze;
use crate::shape::reshaping::{Second, SecondGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Second::<Squeeze>::OP, &SecondGrad::<Squeeze>::OP];

#[test]
fn squeeze2() {
    use crate::testing::{check, tensor};
    check("squeeze2")
        .input("X", tensor([2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("axes", vec![1])
        .output("Out", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .output("XShape", tensor([0, 2, 1, 3], &[]))
        .grad(&["X"])
        .run();
}
