//! `elementwise_min`: the smaller of x and y, with broadcasting.

use crate::elementwise::binary::binary;

binary! {
    Min: "elementwise_min", "Out = min(X, Y)";
    out(x, y) = if y < x { y } else { x };
    grad "elementwise_min_grad",
        "X@GRAD = Out@GRAD where X < Y, Y@GRAD = Out@GRAD elsewhere, summed over what was broadcast", NEEDS_X, NEEDS_Y;
    dx(x, y, _, d) = if x < y { d } else { T::ZERO };
    dy(x, y, _, d) = if x < y { T::ZERO } else { d };
}

#[test]
fn min() {
    use crate::testing::{check, tensor};
    check("elementwise_min")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 8.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[0.5, 2.0, 0.25, 5.0]))
        .grad(&["X", "Y"])
        .run();
}
