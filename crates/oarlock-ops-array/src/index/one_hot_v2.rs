//! `one_hot_v2`: a row with a single one for each number, along a new axis.

use oarlock_ir::OpDef;

use crate::index::one_hot_rows::OneHot;

pub(crate) const OPS: &[&dyn OpDef] = &[&OneHot { op_type: "one_hot_v2", replaces: false }];

#[test]
fn one_hot_v2() {
    use crate::testing::{check, tensor, tensor_of};
    let hot = |ids: &[i64]| check("one_hot_v2").input("X", tensor_of::<i64>([2], ids));
    hot(&[1, 2]).attr("depth", 3).output("Out", tensor([2, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0])).run();
    let depth = tensor_of::<i32>([1], &[2]);
    hot(&[1, 0]).input("depth_tensor", depth).output("Out", tensor([2, 2], &[0.0, 1.0, 1.0, 0.0])).run();
    let lenient = hot(&[1, 7]).attr("depth", 2).attr("allow_out_of_range", true);
    lenient.output("Out", tensor([2, 2], &[0.0, 1.0, 0.0, 0.0])).run();
    assert_eq!(
        hot(&[1, 7]).attr("depth", 2).any_output("Out").error(),
        "error[range]: `one_hot_v2`: input `X` = `X.0` has 7 at element 1, but only 0 to 1 exist\n  \
         at (`one_hot_v2`, block 0, op 0)\n  help: raise `depth`, or set allow_out_of_range"
    );
}
