//! `strided_slice`: every n-th element from starts to ends along some axes, in order or reversed.

use oarlock_ir::OpDef;

use crate::slicing::ranges::{Window, WindowGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&STRIDED_SLICE, &WindowGrad(&STRIDED_SLICE)];

static STRIDED_SLICE: Window = Window {
    types: ["strided_slice", "strided_slice_grad"],
    doc: "Out = Input[starts : ends : strides] along `axes`",
    strided: true,
};

#[test]
fn strided_slice() {
    use crate::testing::{check, tensor};
    check("strided_slice")
        .input("Input", tensor([2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
        .attr("axes", vec![0, 1])
        .attr("starts", vec![1, 0])
        .attr("ends", vec![-3, 4])
        .attr("strides", vec![-1, 2])
        .output("Out", tensor([2, 2], &[5.0, 7.0, 1.0, 3.0]))
        .grad(&["Input"])
        .run();
}
