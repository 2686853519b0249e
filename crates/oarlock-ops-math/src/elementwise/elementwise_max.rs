//! `elementwise_max`: the larger of x and y, with broadcasting.

use crate::elementwise::binary::binary;

binary! {
    Max: "elementwise_max", "Out = max(X, Y)";
    out(x, y) = if x < y { y } else { x };
    grad "elementwise_max_grad",
        "X@GRAD = Out@GRAD where X > Y, Y@GRAD = Out@GRAD elsewhere, summed over what was broadcast", NEEDS_X, NEEDS_Y;
    dx(x, y, _, d) = if x > y { d } else { T::ZERO };
    dy(x, y, _, d) = if x > y { T::ZERO } else { d };
}

#[test]
fn max() {
    use crate::testing::{check, tensor};
    check("elementwise_max")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 8.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[1.0, 5.0, 0.5, 8.0]))
        .grad(&["X", "Y"])
        .run();
}
