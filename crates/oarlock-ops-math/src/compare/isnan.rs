//! `isnan`: whether some element is not a number.

use oarlock_ir::OpDef;

use crate::compare::predicate::Search;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Search { op_type: "isnan", doc: "Out = some X is not a number", nan: true, infinite: false, answer: true }];

#[test]
fn isnan() {
    use oarlock_tensor::{B8, Tensor};

    use crate::testing::{check, tensor, tensor_of};
    for (value, expected) in [(f32::NAN, true), (f32::NEG_INFINITY, false), (3.0, false)] {
        let out = Tensor::scalar(B8::from(expected));
        check("isnan").input("X", tensor([3], &[1.0, value, 2.0])).output("Out", out.clone()).run();
        check("isnan").rows_input("X", &[7], 9, tensor([1, 1], &[value])).output("Out", out).run();
    }
    let integers = tensor_of::<i64>([2], &[1, i64::MAX]);
    check("isnan").input("X", integers).output("Out", Tensor::scalar(B8::from(false))).run();
}
