//! `logical_and`: whether both are true, element by element.

use oarlock_ir::OpDef;

use crate::compare::predicate::Logical;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Logical { op_type: "logical_and", doc: "Out = X and Y", holds: |x, y| x && y }];

#[test]
fn logical_and() {
    use oarlock_tensor::B8;

    use crate::testing::{check, tensor_of};
    let bools = |v: [bool; 4]| tensor_of([4], &v.map(B8::from));
    check("logical_and")
        .input("X", bools([false, false, true, true]))
        .input("Y", bools([false, true, false, true]))
        .output("Out", bools([false, false, false, true]))
        .run();
}
