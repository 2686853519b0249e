//! `pool2d`: the maximum or mean of every window of an image.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::pool::pooling::{Plain, PlainGrad, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Plain(VARIANT), &PlainGrad(VARIANT)];

const VARIANT: Variant = Variant { op_type: "pool2d", grad_type: "pool2d_grad", axes: Axes::Image };

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn pool(kind: &str, ksize: [i32; 2]) -> Check {
        check("pool2d").attr("pooling_type", kind).attr("ksize", ksize.to_vec())
    }

    #[test]
    fn two_by_two() {
        let x = || tensor([1, 1, 2, 5], &[1.0, 2.0, 3.0, 4.0, 5.0, -1.0, 0.5, 9.0, 8.0, 7.0]);
        let case = |kind| pool(kind, [2, 2]).attr("strides", vec![2, 2]).input("X", x()).grad(&["X"]);
        case("max").output("Out", tensor([1, 1, 1, 2], &[2.0, 9.0])).run();
        case("avg").output("Out", tensor([1, 1, 1, 2], &[0.625, 6.0])).run();
    }

    #[test]
    fn the_first_maximum_gets_the_gradient() {
        let ties = || tensor([1, 1, 2, 2], &[1.0, 1.0, 1.0, 1.0]);
        let grad = || {
            check("pool2d_grad")
                .attr("pooling_type", "max")
                .attr("ksize", vec![2, 2])
                .input("X", ties())
                .input("Out", tensor([1, 1, 1, 1], &[1.0]))
                .input("Out@GRAD", tensor([1, 1, 1, 1], &[0.5]))
                .output("X@GRAD", tensor([1, 1, 2, 2], &[0.5, 0.0, 0.0, 0.0]))
        };
        grad().run();
        grad().attr("strides", vec![2, 2]).run();
    }

    #[test]
    fn any_window() {
        // All different, so that a small step does not change which one is the maximum.
        let values: Vec<f32> = (0..80).map(|i| (i * 37 % 80) as f32 / 10.0).collect();
        let x = || tensor([2, 2, 5, 4], &values);
        for kind in ["max", "avg"] {
            let case = |ksize| pool(kind, ksize).input("X", x()).any_output("Out").grad(&["X"]);
            case([3, 2]).attr("paddings", vec![1, 1]).attr("strides", vec![2, 1]).run();
            case([2, 2]).attr("strides", vec![2, 2]).attr("ceil_mode", true).attr("exclusive", false).run();
            case([2, 3]).attr("adaptive", true).run();
            case([9, 9]).attr("global_pooling", true).run();
            case([3, 3]).attr("padding_algorithm", "SAME").attr("data_format", "NHWC").run();
        }
    }

    #[test]
    fn mistakes() {
        let e = pool("max", [3, 3]).input("X", noise([1, 1, 2, 2], 1)).any_output("Out").error();
        assert!(e.contains("`pool2d` has a window of [3, 3], larger than the image: `X` = X.0 f32[1, 1, 2, 2]"), "{e}");
        let e = pool("median", [1, 1]).input("X", noise([1, 1, 2, 2], 1)).any_output("Out").error();
        assert!(e.contains("attribute `pooling_type` is `median`; it can be `max` or `avg`"), "{e}");
    }
}
