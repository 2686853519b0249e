//! `nearest_interp`: images made larger or smaller by repeating or leaving out pixels.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::image::interpolation::{Interp, InterpGrad, Method, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Interp(VARIANT), &InterpGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "nearest_interp",
    grad_type: "nearest_interp_grad",
    doc: "Out = images made larger or smaller by repeating or leaving out pixels",
    axes: Axes::Image,
    method: Method::Nearest,
};

#[test]
fn nearest_pixels() {
    use crate::testing::{check, tensor};
    let x = || tensor([1, 1, 1, 2], &[1.0, 3.0]);
    let out = |v: &[f32]| tensor([1, 1, 1, v.len()], v);
    let case = |w: i32| check("nearest_interp").attr("out_h", 1).attr("out_w", w).input("X", x());
    case(4).attr("align_corners", false).output("Out", out(&[1.0, 1.0, 3.0, 3.0])).grad(&["X"]).run();
    case(3).output("Out", out(&[1.0, 3.0, 3.0])).grad(&["X"]).run();
    let twice = tensor([1, 1, 2, 4], &[1.0, 1.0, 3.0, 3.0, 1.0, 1.0, 3.0, 3.0]);
    check("nearest_interp")
        .attr("scale", 2.0f32)
        .attr("align_corners", false)
        .input("X", x())
        .output("Out", twice)
        .run();
}
