//! `logical_or`: whether one is true or both, element by element.

use oarlock_ir::OpDef;

use crate::compare::predicate::Logical;

pub(crate) const OPS: &[&dyn OpDef] = &[&Logical { op_type: "logical_or", doc: "Out = X or Y", holds: |x, y| x || y }];

#[test]
fn logical_or() {
    use oarlock_tensor::B8;

    use crate::testing::{check, tensor_of};
    let bools = |v: [bool; 4]| tensor_of([4], &v.map(B8::from));
    check("logical_or")
        .input("X", bools([false, false, true, true]))
        .input("Y", bools([false, true, false, true]))
        .output("Out", bools([false, true, true, true]))
        .run();
}
