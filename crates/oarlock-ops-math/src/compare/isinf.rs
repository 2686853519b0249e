//! `isinf`: whether some element is infinite.

use oarlock_ir::OpDef;

use crate::compare::predicate::Search;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Search { op_type: "isinf", doc: "Out = some X is infinite", nan: false, infinite: true, answer: true }];

#[test]
fn isinf() {
    use oarlock_tensor::{B8, Tensor};

    use crate::testing::{check, tensor, tensor_of};
    for (value, expected) in [(f32::NAN, false), (f32::NEG_INFINITY, true), (3.0, false)] {
        let out = Tensor::scalar(B8::from(expected));
        check("isinf").input("X", tensor([3], &[1.0, value, 2.0])).output("Out", out.clone()).run();
        check("isinf").rows_input("X", &[7], 9, tensor([1, 1], &[value])).output("Out", out).run();
    }
    let integers = tensor_of::<i64>([2], &[1, i64::MAX]);
    check("isinf").input("X", integers).output("Out", Tensor::scalar(B8::from(false))).run();
}
