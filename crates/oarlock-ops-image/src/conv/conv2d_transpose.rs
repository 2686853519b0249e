//! `conv2d_transpose`: images made larger by the transpose of a convolution.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::conv::convolution::Variant;
use crate::conv::transposed::{Transposed, TransposedGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transposed(VARIANT), &TransposedGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "conv2d_transpose",
    grad_type: "conv2d_transpose_grad",
    grad_grad_type: None,
    axes: Axes::Image,
    foreign_inputs: &["Bias"],
    grad_reads: &["Bias", "Filter", "Input", "Output@GRAD"],
    grad_writes: &["Bias@GRAD", "Filter@GRAD", "Input@GRAD"],
};

#[cfg(test)]
mod tests {
    use crate::conv::convolution::check_gradients;
    use crate::testing::{Check, check, tensor};

    #[test]
    fn windows_are_added_up() {
        let case = || {
            check("conv2d_transpose")
                .input("Input", tensor([1, 1, 1, 2], &[1.0, 2.0]))
                .input("Filter", tensor([1, 1, 1, 3], &[1.0, 10.0, 100.0]))
        };
        case().output("Output", tensor([1, 1, 1, 4], &[1.0, 12.0, 120.0, 200.0])).run();
        let strided = || case().attr("strides", vec![2, 2]);
        strided().output("Output", tensor([1, 1, 1, 5], &[1.0, 10.0, 102.0, 20.0, 200.0])).run();
        let larger = strided().attr("output_size", vec![2, 6]);
        let rows = [1.0, 10.0, 102.0, 20.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        larger.output("Output", tensor([1, 1, 2, 6], &rows)).run();
    }

    fn small(input: [usize; 4], filter: [usize; 4]) -> Check {
        check_gradients("conv2d_transpose", input, filter)
    }

    #[test]
    fn gradients() {
        small([2, 2, 3, 2], [2, 3, 2, 2]).attr("paddings", vec![1, 0]).run();
        small([1, 2, 2, 3], [2, 1, 3, 3]).attr("strides", vec![2, 2]).attr("paddings", vec![1, 0, 0, 1]).run();
        small([1, 4, 2, 2], [4, 1, 2, 2]).attr("groups", 2).attr("dilations", vec![2, 1]).run();
        small([1, 2, 2, 2], [2, 2, 1, 1]).attr("data_format", "NHWC").attr("padding_algorithm", "SAME").run();
    }

    #[test]
    fn mistakes() {
        let e = small([1, 3, 4, 4], [2, 2, 3, 3]).error();
        assert!(e.contains("`conv2d_transpose` cannot apply `Filter` = Filter.0 f32[2, 2, 3, 3] to"), "{e}");
        let e = small([1, 2, 2, 2], [2, 2, 2, 2]).attr("output_size", vec![3, 9]).error();
        assert!(e.contains("`conv2d_transpose` cannot make a result of [3, 9] from"), "{e}");
        let e = small([1, 2, 1, 1], [2, 2, 2, 2]).attr("paddings", vec![1, 1]).error();
        assert!(e.contains("has padding that leaves nothing of the result"), "{e}");
    }
}
