//! `bicubic_interp`: images made larger or smaller by curves of third degree.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::image::interpolation::{Interp, InterpGrad, Method, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&Interp(VARIANT), &InterpGrad(VARIANT)];

const VARIANT: Variant = Variant {
    op_type: "bicubic_interp",
    grad_type: "bicubic_interp_grad",
    doc: "Out = images made larger or smaller, on curves of third degree through four pixels along each axis",
    axes: Axes::Image,
    method: Method::Cubic,
};

#[test]
fn curves_pass_through_pixels() {
    use crate::testing::{check, noise, tensor};
    let case = |sizes: [i32; 2]| check("bicubic_interp").attr("out_h", sizes[0]).attr("out_w", sizes[1]);
    // The middle is 0.59375 of each neighbour and -0.09375 of the ones beyond, which the border replaces.
    let x = || tensor([1, 1, 1, 2], &[1.0, 3.0]);
    case([1, 3]).input("X", x()).output("Out", tensor([1, 1, 1, 3], &[1.0, 2.0, 3.0])).grad(&["X"]).run();
    case([5, 7]).input("X", noise([2, 2, 3, 4], 1)).any_output("Out").grad(&["X"]).run();
    let apart =
        case([2, 6]).attr("align_corners", false).attr("data_layout", "NHWC").input("X", noise([2, 3, 4, 2], 2));
    apart.any_output("Out").grad(&["X"]).run();
    let same = tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    case([2, 2]).attr("align_corners", false).input("X", same.clone()).output("Out", same).run();
    let e = case([0, 0]).input("X", x()).any_output("Out").error();
    assert!(e.contains("`bicubic_interp` does not know how large"), "{e}");
}
