//! `depthwise_conv2d`: `conv2d` with as many groups as channels, so that channels do not mix.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::direct::{Direct, DirectGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Direct(VARIANT), &DirectGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "depthwise_conv2d",
    grad_type: "depthwise_conv2d_grad",
    grad_grad_type: None,
    axes: Axes::Image,
    foreign_inputs: &["Bias", "ResidualData"],
    grad_reads: &["Bias", "Filter", "Input", "Output@GRAD"],
    grad_writes: &["Bias@GRAD", "Filter@GRAD", "Input@GRAD"],
};

#[test]
fn channels_do_not_mix() {
    use crate::testing::{check, noise, tensor};
    check("depthwise_conv2d")
        .attr("groups", 2)
        .input("Input", tensor([1, 2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .input("Filter", tensor([2, 1, 1, 2], &[1.0, 1.0, 1.0, -1.0]))
        .output("Output", tensor([1, 2, 1, 2], &[3.0, 5.0, -1.0, -1.0]))
        .run();
    check("depthwise_conv2d")
        .attr("groups", 2)
        .attr("paddings", vec![1, 1])
        .input("Input", noise([1, 2, 3, 3], 1))
        .input("Filter", noise([4, 1, 3, 3], 2))
        .any_output("Output")
        .grad(&["Input", "Filter"])
        .grad_tolerance(1e-2, 1e-3)
        .run();
}
