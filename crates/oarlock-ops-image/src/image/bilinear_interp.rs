//! `bilinear_interp`: images made larger or smaller, linear between pixels.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::image::interpolation::{Interp, InterpGrad, Method, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Interp(VARIANT), &InterpGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "bilinear_interp",
    grad_type: "bilinear_interp_grad",
    doc: "Out = images made larger or smaller, linear between pixels",
    axes: Axes::Image,
    method: Method::Linear,
};

#[test]
fn between_pixels() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let case = |sizes: [i32; 2]| check("bilinear_interp").attr("out_h", sizes[0]).attr("out_w", sizes[1]);
    let x = || tensor([1, 1, 1, 2], &[1.0, 3.0]);
    let out = |v: &[f32]| tensor([1, 1, 1, v.len()], v);
    case([1, 3]).input("X", x()).output("Out", out(&[1.0, 2.0, 3.0])).grad(&["X"]).run();
    let apart = || case([1, 4]).attr("align_corners", false).input("X", x());
    apart().attr("align_mode", 0).output("Out", out(&[1.0, 1.5, 2.5, 3.0])).grad(&["X"]).run();
    apart().output("Out", out(&[1.0, 2.0, 3.0, 3.0])).run();
    case([9, 9])
        .input("X", x())
        .input("OutSize", tensor_of::<i32>([2], &[1, 3]))
        .output("Out", out(&[1.0, 2.0, 3.0]))
        .run();
    let number = |v: i32| tensor_of::<i32>([1], &[v]);
    let listed = case([-1, -1]).input("X", x()).inputs("SizeTensor", vec![number(1), number(3)]);
    listed.output("Out", out(&[1.0, 2.0, 3.0])).run();
    let last = case([3, 2]).attr("data_layout", "NHWC").input("X", noise([2, 2, 3, 2], 1));
    last.any_output("Out").grad(&["X"]).run();
    let e = case([0, 0]).input("X", x()).any_output("Out").error();
    assert!(e.contains("`bilinear_interp` does not know how large"), "{e}");
}
