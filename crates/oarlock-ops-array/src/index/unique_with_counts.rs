//! `unique_with_counts`: each number once, and how often it occurs.

use oarlock_ir::OpDef;

use super::unique::Unique;

pub(crate) const OPS: &[&dyn OpDef] = &[&Unique {
    op_type: "unique_with_counts",
    doc: "Out = each number of X once; X = Out[Index]; Count = how often each occurs",
    counts: true,
}];

#[test]
fn unique_with_counts() {
    use crate::testing::{check, tensor, tensor_of};
    check("unique_with_counts")
        .attr("dtype", oarlock_tensor::DType::I32.proto())
        .input("X", tensor([3], &[1.5, 0.5, 1.5]))
        .output("Out", tensor([2], &[1.5, 0.5]))
        .output("Index", tensor_of::<i32>([3], &[0, 1, 0]))
        .output("Count", tensor_of::<i32>([2], &[2, 1]))
        .run();
}
