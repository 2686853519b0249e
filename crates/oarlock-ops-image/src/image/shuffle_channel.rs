//! `shuffle_channel`: channels of several groups one by one in turn.

use oarlock_ir::{Attr, OpDef};
use oarlock_tensor::Dims;

use crate::image::rearrange::{Order, Shuffle, ShuffleGrad, over};

pub(crate) const OPS: &[&dyn OpDef] = &[&Shuffle(&ORDER), &ShuffleGrad(&ORDER)];

static ORDER: Order = Order {
    op_type: "shuffle_channel",
    grad_type: "shuffle_channel_grad",
    doc: "Out = the first channels of all groups, then the second ones, and so on",
    attr: ("group", Attr::Int(1), "the number of groups; it divides the number of channels"),
    grad_reads: &["Out@GRAD"],
    sizes: |sizes, groups| over(sizes[1], groups).map(|_| sizes),
    sizes_back: |sizes, groups| over(sizes[1], groups).map(|_| sizes),
    factors: |[n, c, h, w], groups| Dims::from([n, groups, c / groups, h * w]),
    order: &[0, 2, 1, 3],
};

#[test]
fn groups_take_turns() {
    use crate::testing::{check, noise, tensor};
    let case = || check("shuffle_channel").attr("group", 2);
    let x = tensor([1, 6, 1, 1], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let out = tensor([1, 6, 1, 1], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    case().input("X", x).output("Out", out).grad(&["X"]).run();
    let e = case().input("X", noise([1, 3, 2, 2], 1)).any_output("Out").error();
    assert!(e.contains("`shuffle_channel` cannot cut `X` = X.0 f32[1, 3, 2, 2] by `group` 2"), "{e}");
}
