//! `max_pool2d_with_index`: the maximum of every window of an image, and where it is.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::pool::indexed::{Indexed, IndexedGrad};
use crate::pool::pooling::Variant;

pub(crate) const OPS: &[&dyn OpDef] = &[&Indexed(VARIANT), &IndexedGrad(VARIANT)];

const VARIANT: Variant =
    Variant { op_type: "max_pool2d_with_index", grad_type: "max_pool2d_with_index_grad", axes: Axes::Image };

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of};

    #[test]
    fn first_maxima() {
        let x = tensor([1, 1, 2, 4], &[1.0, 4.0, 3.0, 0.0, 4.0, 2.0, 2.0, 3.0]);
        check("max_pool2d_with_index")
            .attr("ksize", vec![2, 2])
            .attr("strides", vec![2, 2])
            .input("X", x)
            .output("Out", tensor([1, 1, 1, 2], &[4.0, 3.0]))
            .output("Mask", tensor_of::<i32>([1, 1, 1, 2], &[1, 2]))
            .run();
    }

    #[test]
    fn gradients() {
        let values: Vec<f32> = (0..40).map(|i| (i * 7 % 40) as f32 / 10.0).collect();
        let case = |ksize: [i32; 2]| {
            let case = check("max_pool2d_with_index").attr("ksize", ksize.to_vec());
            case.input("X", tensor([1, 2, 5, 4], &values)).any_output("Out").any_output("Mask").grad(&["X"])
        };
        case([3, 2]).attr("paddings", vec![1, 1]).attr("strides", vec![2, 1]).run();
        case([2, 3]).attr("adaptive", true).run();
        case([1, 1]).attr("global_pooling", true).run();
    }

    #[test]
    fn an_index_outside() {
        let e = check("max_pool2d_with_index_grad")
            .attr("ksize", vec![1, 1])
            .input("X", tensor([1, 1, 1, 1], &[1.0]))
            .input("Mask", tensor_of::<i32>([1, 1, 1, 1], &[4]))
            .input("Out@GRAD", tensor([1, 1, 1, 1], &[1.0]))
            .any_output("X@GRAD")
            .error();
        assert!(e.contains("input `Mask` = `Mask.0` names element 4 of channels that have 1"), "{e}");
    }
}
