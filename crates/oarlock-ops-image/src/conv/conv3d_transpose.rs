//! `conv3d_transpose`: volumes made larger by the transpose of a convolution.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::transposed::{Transposed, TransposedGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transposed(VARIANT), &TransposedGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "conv3d_transpose",
    grad_type: "conv3d_transpose_grad",
    grad_grad_type: None,
    axes: Axes::Volume,
    foreign_inputs: &[],
    grad_reads: &["Filter", "Input", "Output@GRAD"],
    grad_writes: &["Filter@GRAD", "Input@GRAD"],
};

#[test]
fn windows_are_added_up() {
    use crate::testing::{check, noise, tensor};
    check("conv3d_transpose")
        .input("Input", tensor([1, 1, 2, 1, 1], &[1.0, 2.0]))
        .input("Filter", tensor([1, 1, 2, 1, 2], &[1.0, 10.0, 100.0, 1000.0]))
        .output("Output", tensor([1, 1, 3, 1, 2], &[1.0, 10.0, 102.0, 1020.0, 200.0, 2000.0]))
        .run();
    check("conv3d_transpose")
        .attr("strides", vec![2, 1, 2])
        .attr("paddings", vec![0, 1, 1])
        .input("Input", noise([1, 2, 2, 2, 2], 1))
        .input("Filter", noise([2, 1, 2, 3, 2], 2))
        .any_output("Output")
        .grad(&["Input", "Filter"])
        .run();
}
