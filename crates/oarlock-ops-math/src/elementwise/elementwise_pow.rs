//! `elementwise_pow`: x to the power y, with broadcasting.

use crate::elementwise::binary::binary;

binary! {
    Pow: "elementwise_pow", "Out = X^Y";
    out(x, y) = x.to_the(y);
    grad "elementwise_pow_grad",
        "X@GRAD = Out@GRAD * Y * X^(Y-1) and Y@GRAD = Out@GRAD * ln(X) * X^Y, summed over what was broadcast", NEEDS_X, NEEDS_Y;
    dx(x, y, _, d) = d * y * x.powf(y - T::ONE);
    dy(x, y, _, d) = d * x.ln() * x.powf(y);
}

#[test]
fn pow() {
    use crate::testing::{check, tensor};
    check("elementwise_pow")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 4.0]))
        .input("Y", tensor([2], &[0.5, 2.0]))
        .output("Out", tensor([2, 2], &[1.0, 4.0, 0.5, 16.0]))
        .grad(&["X", "Y"])
        .run();
}
