//! `reduce_all`: whether all are true along some axes.

use oarlock_ir::OpDef;

use crate::reduce::reduction::ReduceBool;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&ReduceBool { op_type: "reduce_all", doc: "Out = all of X along `dim`", start: true, step: |a, b| a & b }];

#[test]
fn all() {
    use oarlock_tensor::B8;

    use crate::testing::{check, tensor, tensor_of};
    let bools = |v: &[bool]| v.iter().map(|&b| B8::from(b)).collect::<Vec<_>>();
    let x = tensor_of([2, 2], &bools(&[true, false, true, true]));
    check("reduce_all").input("X", x).attr("dim", vec![0]).output("Out", tensor_of([2], &bools(&[true, false]))).run();
    let wrong = check("reduce_all").input("X", tensor([1], &[1.0])).any_output("Out");
    assert_eq!(
        wrong.error(),
        "error[dtype]: `reduce_all` needs bool in `X` = X.0 f32[1]\n  \
         at (`reduce_all`, block 0, op 0)\n  \
         help: compare or cast it first"
    );
}
