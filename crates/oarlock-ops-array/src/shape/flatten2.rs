//! `flatten2`: a matrix of what is before an axis and what is from it on; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::OpDef;

use super::flatten::Flatten;
use crate::shape::reshaping::{Second, SecondGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Second::<Flatten>::OP, &SecondGrad::<Flatten>::OP];

#[test]
fn flatten2() {
    use crate::testing::{check, tensor};
    check("flatten2")
        .input("X", tensor([1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("axis", 2)
        .output("Out", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .output("XShape", tensor([0, 1, 2, 3], &[]))
        .grad(&["X"])
        .run();
}
