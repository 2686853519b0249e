//! `one_hot_v2`: a row with a single one for each number, along a new axis.

use oarlock_ir::OpDef;

use super::one_hot::OneHot;

pub(crate) const OPS: &[&dyn OpDef] = &[&OneHot { op_type: "one_hot_v2", replaces: false }];

#[test]
fn one_hot_v2_makes_a_new_axis() {
    use crate::testing::{check, tensor, tensor_of};
    let hot = check("one_hot_v2").input("X", tensor_of::<i64>([2], &[1, 2])).attr("depth", 3);
    hot.output("Out", tensor([2, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0])).run();
}
