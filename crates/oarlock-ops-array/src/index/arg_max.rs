//! `arg_max`: where the largest element along an axis is.

use std::cmp::Ordering;

use oarlock_ir::OpDef;

use crate::index::arg_extreme::Pick;

pub(crate) const OPS: &[&dyn OpDef] = &[&Pick {
    op_type: "arg_max",
    doc: "Out = where the largest element of X along an axis is, the first if there are several",
    better: Ordering::Greater,
}];

#[test]
fn arg_max() {
    use oarlock_tensor::DType;

    use crate::testing::{check, tensor, tensor_of};
    let pick =
        |axis: i32| check("arg_max").input("X", tensor([2, 3], &[1.0, 3.0, 3.0, 5.0, 1.0, 1.0])).attr("axis", axis);
    pick(-1).output("Out", tensor_of::<i64>([2], &[1, 0])).run();
    let narrow = pick(0).attr("keepdims", true).attr("dtype", DType::I32.proto());
    narrow.output("Out", tensor_of::<i32>([1, 3], &[1, 0, 0])).run();
    assert_eq!(
        pick(2).any_output("Out").error(),
        "error[shape]: `arg_max` has no axis 2 in `X` = X.0 f32[2, 3]\n  at (`arg_max`, block 0, op 0)"
    );
}
