//! `reciprocal`: 1 / x, element by element.

use crate::unary::formula::formula;

formula! {
    Reciprocal: "reciprocal", "reciprocal_grad";
    out(x) = T::ONE / x, "Out = 1 / X";
    grad Out(out, dout) = -dout * out * out, "X@GRAD = -Out@GRAD * Out^2";
}

#[test]
fn reciprocal() {
    crate::unary::formula::check_values("reciprocal", &[-0.5, 0.75, 4.0], &[-2.0, 1.3333334, 0.25]);
}
