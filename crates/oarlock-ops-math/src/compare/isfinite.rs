//! `isfinite`: whether all elements are finite.

use oarlock_ir::OpDef;

use crate::compare::predicate::Search;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Search { op_type: "isfinite", doc: "Out = all X are finite", nan: true, infinite: true, answer: false }];

#[test]
fn isfinite() {
    use oarlock_tensor::{B8, Tensor};

    use crate::testing::{check, tensor, tensor_of};
    for (value, expected) in [(f32::NAN, false), (f32::NEG_INFINITY, false), (3.0, true)] {
        let out = Tensor::scalar(B8::from(expected));
        check("isfinite").input("X", tensor([3], &[1.0, value, 2.0])).output("Out", out.clone()).run();
        check("isfinite").rows_input("X", &[7], 9, tensor([1, 1], &[value])).output("Out", out).run();
    }
    let integers = tensor_of::<i64>([2], &[1, i64::MAX]);
    check("isfinite").input("X", integers).output("Out", Tensor::scalar(B8::from(true))).run();
}
