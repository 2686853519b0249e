//! `depthwise_conv2d_transpose`: `conv2d_transpose` with as many groups as channels.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::transposed::{Transposed, TransposedGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transposed(VARIANT), &TransposedGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "depthwise_conv2d_transpose",
    grad_type: "depthwise_conv2d_transpose_grad",
    grad_grad_type: None,
    axes: Axes::Image,
    foreign_inputs: &["Bias"],
    grad_reads: &["Bias", "Filter", "Input", "Output@GRAD"],
    grad_writes: &["Bias@GRAD", "Filter@GRAD", "Input@GRAD"],
};

#[test]
fn channels_do_not_mix() {
    use crate::testing::{check, noise, tensor};
    check("depthwise_conv2d_transpose")
        .attr("groups", 2)
        .input("Input", tensor([1, 2, 1, 1], &[1.0, 2.0]))
        .input("Filter", tensor([2, 1, 1, 2], &[1.0, 2.0, 3.0, 4.0]))
        .output("Output", tensor([1, 2, 1, 2], &[1.0, 2.0, 6.0, 8.0]))
        .run();
    check("depthwise_conv2d_transpose")
        .attr("groups", 2)
        .attr("strides", vec![2, 1])
        .input("Input", noise([2, 2, 2, 3], 1))
        .input("Filter", noise([2, 1, 3, 2], 2))
        .any_output("Output")
        .grad(&["Input", "Filter"])
        .run();
}
