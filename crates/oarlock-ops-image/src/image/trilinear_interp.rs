//! `trilinear_interp`: volumes made larger or smaller, linear between pixels.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::image::interpolation::{Interp, InterpGrad, Method, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Interp(VARIANT), &InterpGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "trilinear_interp",
    grad_type: "trilinear_interp_grad",
    doc: "Out = volumes made larger or smaller, linear between pixels",
    axes: Axes::Volume,
    method: Method::Linear,
};

#[test]
fn between_pixels() {
    use crate::testing::{check, noise, tensor};
    let case = |d: i32, h: i32, w: i32| check("trilinear_interp").attr("out_d", d).attr("out_h", h).attr("out_w", w);
    let x = tensor([1, 1, 2, 1, 1], &[1.0, 3.0]);
    case(3, 1, 1).input("X", x).output("Out", tensor([1, 1, 3, 1, 1], &[1.0, 2.0, 3.0])).grad(&["X"]).run();
    let other = case(3, 2, 4).attr("align_corners", false).attr("align_mode", 0).input("X", noise([1, 2, 2, 3, 2], 1));
    other.any_output("Out").grad(&["X"]).run();
}
