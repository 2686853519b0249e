//! `conv2d`: filters that slide over images.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::direct::{Direct, DirectGrad};
use crate::conv::double_gradient::DirectGradGrad;

pub(crate) const OPS: &[&dyn OpDef] = &[&Direct(VARIANT), &DirectGrad(VARIANT), &DirectGradGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "conv2d",
    grad_type: "conv2d_grad",
    grad_grad_type: Some("conv2d_grad_grad"),
    axes: Axes::Image,
    foreign_inputs: &["Bias", "ResidualData"],
    grad_reads: &["Bias", "Filter", "Input", "Output@GRAD"],
    grad_writes: &["Bias@GRAD", "Filter@GRAD", "Input@GRAD"],
};

#[cfg(test)]
mod tests {
    use crate::conv::convolution::check_gradients;
    use crate::testing::{Check, check, noise, tensor};

    #[test]
    fn a_window_of_ones_sums() {
        let image: Vec<f32> = (0..9).map(|v| v as f32).collect();
        check("conv2d")
            .input("Input", tensor([1, 1, 3, 3], &image))
            .input("Filter", tensor([1, 1, 2, 2], &[1.0; 4]))
            .output("Output", tensor([1, 1, 2, 2], &[8.0, 12.0, 20.0, 24.0]))
            .run();
    }

    fn small(input: [usize; 4], filter: [usize; 4]) -> Check {
        check_gradients("conv2d", input, filter)
    }

    #[test]
    fn gradients_of_every_way_to_compute() {
        // Shifted views, with padding; columns, for strides; the image itself, for single pixels; padding beyond the window.
        small([2, 2, 4, 3], [3, 2, 3, 2]).attr("paddings", vec![1, 1]).run();
        small([2, 2, 5, 4], [2, 2, 3, 3]).attr("strides", vec![2, 1]).attr("paddings", vec![1, 0, 2, 1]).run();
        small([2, 3, 2, 2], [2, 3, 1, 1]).run();
        small([1, 1, 2, 2], [1, 1, 2, 2]).attr("paddings", vec![2, 2]).run();
        small([1, 4, 4, 4], [2, 2, 2, 2]).attr("groups", 2).attr("dilations", vec![2, 1]).run();
        small([1, 3, 3, 2], [2, 2, 2, 2]).attr("data_format", "NHWC").attr("padding_algorithm", "SAME").run();
    }

    #[test]
    fn mistakes() {
        let e = check("conv2d").input("Input", noise([1, 3, 4, 4], 1)).input("Filter", noise([2, 2, 3, 3], 2));
        let e = e.any_output("Output").error();
        assert!(e.contains("`conv2d` cannot apply `Filter` = Filter.0 f32[2, 2, 3, 3] to"), "{e}");
        let e = check("conv2d").input("Input", noise([1, 2, 2, 2], 1)).input("Filter", noise([2, 2, 3, 3], 2));
        let e = e.any_output("Output").error();
        assert!(e.contains("`conv2d` has a window larger than the image"), "{e}");
    }
}
