//! `elementwise_add`: x + y, with broadcasting.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::elementwise::binary::binary;

binary! {
    Add: "elementwise_add", "Out = X + Y";
    out(x, y) = x.plus(y);
    loops add_all, add_to;
    grad "elementwise_add_grad", "X@GRAD = Out@GRAD and Y@GRAD = Out@GRAD, summed over what was broadcast", PASSES_ON;
    dx(_, _, _, d) = d;
    dy(_, _, _, d) = d;
    double Add;
}

impl DoubleGradient for Add {
    const TYPE: &'static str = "elementwise_add_grad_grad";
    const DOC: &'static str = "DDOut = DDX + DDY";
    const READS: &'static [&'static str] = &["Y", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];
    const BINARY: bool = true;

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx + p.ddy, T::ZERO, T::ZERO]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, tensor_of, with_lod};

    #[test]
    fn bias() {
        check("elementwise_add")
            .input("X", with_lod(tensor([2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), &[&[0, 1, 2]]))
            .input("Y", tensor([3], &[10.0, 20.0, 30.0]))
            .attr("axis", 1)
            .output("Out", with_lod(tensor([2, 3], &[10.0, 21.0, 32.0, 13.0, 24.0, 35.0]), &[&[0, 1, 2]]))
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn every_way_to_broadcast() {
        let shapes: [(&[usize], &[usize], i32); 9] = [
            (&[2, 3], &[2, 3], -1),
            (&[2, 3, 4], &[3], 1),
            (&[2, 3, 4], &[2, 3], 0),
            (&[2, 3], &[1], -1),
            (&[2, 3, 2, 2], &[3, 1, 1], 1),
            (&[2, 1, 4], &[2, 3, 4], -1),
            (&[3, 1], &[1, 4], -1),
            (&[4], &[2, 4], -1),
            (&[2, 1, 3], &[4, 1], -1),
        ];
        for (x, y, axis) in shapes {
            check("elementwise_add")
                .input("X", noise(oarlock_tensor::Dims::new(x), 1))
                .input("Y", noise(oarlock_tensor::Dims::new(y), 2))
                .attr("axis", axis)
                .any_output("Out")
                .grad(&["X", "Y"])
                .run();
        }
    }

    #[test]
    fn long_runs_are_summed_in_blocks() {
        let ones = tensor([3, 700], &[1.0; 2100]);
        check("elementwise_add")
            .input("X", tensor([1], &[1.0]))
            .input("Y", ones)
            .output("Out", tensor([3, 700], &[2.0; 2100]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn integers() {
        check("elementwise_add")
            .input("X", tensor_of::<i64>([2, 2], &[1, 2, 3, i64::MAX]))
            .input("Y", tensor_of::<i64>([2], &[10, 1]))
            .output("Out", tensor_of::<i64>([2, 2], &[11, 3, 13, i64::MIN]))
            .run();
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let add = || check("elementwise_add").input("X", tensor([2, 3], &[0.0; 6])).any_output("Out");
        assert_eq!(
            add().input("Y", tensor([2], &[0.0; 2])).error(),
            "error[shape]: `elementwise_add` cannot broadcast `X` = X.0 f32[2, 3] and `Y` = Y.0 f32[2] with axis -1\n  \
             at (`elementwise_add`, block 0, op 0)\n  \
             help: sizes must be equal or 1, those of `Y` standing under those of `X` from `axis` on (-1: at the end); \
             set `axis`, or reshape one of them"
        );
        assert_eq!(
            add().input("Y", tensor_of::<i64>([3], &[0; 3])).error(),
            "error[dtype]: `elementwise_add` needs one dtype for `X` = X.0 f32[2, 3] and `Y` = Y.0 i64[3]\n  \
             at (`elementwise_add`, block 0, op 0)\n  \
             help: cast one of them to the dtype of the other"
        );
    }
}
