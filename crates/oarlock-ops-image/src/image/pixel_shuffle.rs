//! `pixel_shuffle`: channels become pixels of a larger image.

use oarlock_ir::{Attr, OpDef};
use oarlock_tensor::Dims;

use crate::image::rearrange::{Order, Shuffle, ShuffleGrad, over, times};

pub(crate) const OPS: &[&dyn OpDef] = &[&Shuffle(&ORDER), &ShuffleGrad(&ORDER)];

static ORDER: Order = Order {
    op_type: "pixel_shuffle",
    grad_type: "pixel_shuffle_grad",
    doc: "Out = every r * r channels of X as one channel r times as high and wide",
    attr: ("upscale_factor", Attr::Int(1), "r; its square divides the number of channels"),
    grad_reads: &["Out@GRAD"],
    sizes: |[n, c, h, w], r| Some([n, over(c, r * r)?, times(h, r), times(w, r)]),
    sizes_back: |[n, c, h, w], r| Some([n, times(c, r * r), over(h, r)?, over(w, r)?]),
    factors: |[n, c, h, w], r| Dims::from([n, c / (r * r), r, r, h, w]),
    order: &[0, 1, 4, 2, 5, 3],
};

#[test]
fn channels_become_pixels() {
    use crate::testing::{check, noise, tensor};
    let case = || check("pixel_shuffle").attr("upscale_factor", 2);
    let x = tensor([1, 4, 1, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let out = tensor([1, 1, 2, 4], &[0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    case().input("X", x).output("Out", out).grad(&["X"]).run();
    let e = case().input("X", noise([1, 3, 2, 2], 1)).any_output("Out").error();
    assert!(e.contains("`pixel_shuffle` cannot cut `X` = X.0 f32[1, 3, 2, 2] by `upscale_factor` 2"), "{e}");
}
