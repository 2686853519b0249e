//! `reduce_any`: whether any is true along some axes.

use oarlock_ir::OpDef;

use crate::reduce::reduction::ReduceBool;

pub(crate) const OPS: &[&dyn OpDef] =
    &[&ReduceBool { op_type: "reduce_any", doc: "Out = any of X along `dim`", start: false, step: |a, b| a | b }];

#[test]
fn any() {
    use oarlock_tensor::B8;

    use crate::testing::{check, tensor, tensor_of};
    let bools = |v: &[bool]| v.iter().map(|&b| B8::from(b)).collect::<Vec<_>>();
    let x = tensor_of([2, 2], &bools(&[true, false, true, false]));
    check("reduce_any").input("X", x).attr("dim", vec![0]).output("Out", tensor_of([2], &bools(&[true, false]))).run();
    let wrong = check("reduce_any").input("X", tensor([1], &[1.0])).any_output("Out");
    assert_eq!(
        wrong.error(),
        "error[dtype]: `reduce_any` needs bool in `X` = X.0 f32[1]\n  \
         at (`reduce_any`, block 0, op 0)\n  \
         help: compare or cast it first"
    );
}
