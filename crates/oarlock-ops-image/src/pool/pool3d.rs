//! `pool3d`: the maximum or mean of every window of a volume.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::pool::pooling::{Plain, PlainGrad, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Plain(VARIANT), &PlainGrad(VARIANT)];

const VARIANT: Variant = Variant { op_type: "pool3d", grad_type: "pool3d_grad", axes: Axes::Volume };

#[test]
fn windows_of_volumes() {
    use crate::testing::{check, tensor};
    // All different, so that a small step does not change which one is the maximum.
    let values: Vec<f32> = (0..48).map(|i| (i * 29 % 48) as f32 / 10.0).collect();
    let case = |kind: &str| {
        let x = tensor([1, 2, 2, 3, 4], &values);
        check("pool3d").attr("pooling_type", kind).input("X", x).grad(&["X"])
    };
    let all = |v: [f32; 2]| tensor([1, 2, 1, 1, 1], &v);
    case("max").attr("ksize", vec![9, 9, 9]).attr("global_pooling", true).output("Out", all([4.3, 4.7])).run();
    case("avg").attr("ksize", vec![2, 3, 4]).output("Out", all([2.15, 2.55])).run();
    for kind in ["max", "avg"] {
        let any = |ksize: [i32; 3]| case(kind).attr("ksize", ksize.to_vec()).any_output("Out");
        any([2, 2, 3]).attr("paddings", vec![1, 1, 0]).attr("strides", vec![2, 1, 1]).run();
        any([1, 2, 2]).attr("adaptive", true).run();
        any([2, 2, 2]).attr("strides", vec![2, 2, 2]).attr("ceil_mode", true).attr("exclusive", false).run();
    }
}
