//! `conv3d`: filters that slide over volumes.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::direct::{Direct, DirectGrad};
use crate::conv::double_gradient::DirectGradGrad;

pub(crate) const OPS: &[&dyn OpDef] = &[&Direct(VARIANT), &DirectGrad(VARIANT), &DirectGradGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "conv3d",
    grad_type: "conv3d_grad",
    grad_grad_type: Some("conv3d_grad_grad"),
    axes: Axes::Volume,
    foreign_inputs: &["ResidualData"],
    grad_reads: &["Filter", "Input", "Output@GRAD", "ResidualData"],
    grad_writes: &["Filter@GRAD", "Input@GRAD"],
};

#[cfg(test)]
mod tests {
    use crate::conv::convolution::check_gradients;
    use crate::testing::{Check, check, noise, tensor};

    #[test]
    fn a_window_of_ones_sums() {
        let volume: Vec<f32> = (0..8).map(|v| v as f32).collect();
        check("conv3d")
            .input("Input", tensor([1, 1, 2, 2, 2], &volume))
            .input("Filter", tensor([1, 1, 2, 1, 2], &[1.0; 4]))
            .output("Output", tensor([1, 1, 1, 2, 1], &[10.0, 18.0]))
            .run();
    }

    fn small(input: [usize; 5], filter: [usize; 5]) -> Check {
        check_gradients("conv3d", input, filter)
    }

    #[test]
    fn gradients_of_every_way_to_compute() {
        small([2, 2, 2, 3, 2], [2, 2, 2, 2, 2]).attr("paddings", vec![1, 0, 1]).run();
        small([1, 1, 3, 4, 3], [2, 1, 2, 3, 2])
            .attr("strides", vec![1, 2, 1])
            .attr("paddings", vec![0, 1, 1, 0, 0, 2])
            .run();
        small([1, 2, 2, 1, 2], [3, 2, 1, 1, 1]).run();
        small([1, 2, 2, 2, 2], [2, 2, 2, 1, 2]).attr("data_format", "NDHWC").attr("padding_algorithm", "SAME").run();
    }

    #[test]
    fn mistakes() {
        let e = check("conv3d").input("Input", noise([1, 2, 4, 4], 1)).input("Filter", noise([2, 2, 3, 3], 2));
        let e = e.any_output("Output").error();
        assert!(e.contains("`conv3d` needs inputs and filters of 5 sizes, but has `Input` = Input.0 f32[1, 2,"), "{e}");
        let e = small([1, 1, 2, 2, 2], [1, 1, 1, 1, 1]).attr("strides", vec![1, 1]).error();
        assert!(e.contains("attribute `strides` is [1, 1]; it needs 3 sizes above 0"), "{e}");
    }
}
