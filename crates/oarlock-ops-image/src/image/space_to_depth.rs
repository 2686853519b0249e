//! `space_to_depth`: blocks of pixels become channels.

use oarlock_ir::{Attr, OpDef};
use oarlock_tensor::Dims;

use crate::image::rearrange::{Order, Shuffle, ShuffleGrad, over, times};

pub(crate) const OPS: &[&dyn OpDef] = &[&Shuffle(&ORDER), &ShuffleGrad(&ORDER)];

// Fluid's operator does not do what its name says: it moves channels to pixels, as `pixel_shuffle` with the block as the
// outer factor of the channels does, and then calls the result an image of more channels. Programs depend on that.
static ORDER: Order = Order {
    op_type: "space_to_depth",
    grad_type: "space_to_depth_grad",
    doc: "Out = the elements of X as channels / b^2 channels of [h * b, w * b], called channels * b^2 of [h / b, w / b]",
    attr: ("blocksize", Attr::Long(2), "b; it divides height and width, and its square the number of channels"),
    grad_reads: &["Out@GRAD", "X"],
    sizes: |[n, c, h, w], b| {
        over(c, b * b)?;
        Some([n, times(c, b * b), over(h, b)?, over(w, b)?])
    },
    sizes_back: |[n, c, h, w], b| Some([n, over(c, b * b)?, times(h, b), times(w, b)]),
    factors: |[n, c, h, w], b| Dims::from([n, b, b, c / (b * b), h, w]),
    order: &[0, 3, 4, 1, 5, 2],
};

#[test]
fn as_fluid_does_it() {
    use crate::testing::{check, noise, tensor};
    let case = || check("space_to_depth").attr("blocksize", 2i64);
    let x: Vec<f32> = (0..16).map(|v| v as f32).collect();
    let out = [0.0, 4.0, 1.0, 5.0, 8.0, 12.0, 9.0, 13.0, 2.0, 6.0, 3.0, 7.0, 10.0, 14.0, 11.0, 15.0];
    let case2 = case().input("X", tensor([1, 4, 2, 2], &x)).output("Out", tensor([1, 16, 1, 1], &out));
    case2.grad(&["X"]).run();
    let e = case().input("X", noise([1, 4, 3, 2], 1)).any_output("Out").error();
    assert!(e.contains("`space_to_depth` cannot cut `X` = X.0 f32[1, 4, 3, 2] by `blocksize` 2"), "{e}");
}
