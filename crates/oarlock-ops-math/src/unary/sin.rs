//! `sin`: sine, element by element.

use crate::unary::formula::formula;

formula! {
    Sin: "sin", "sin_grad";
    out(x) = x.sin(), "Out = sin(X)";
    grad X(x, dout) = dout * x.cos(), "X@GRAD = Out@GRAD * cos(X)";
}

#[test]
fn sin() {
    crate::unary::formula::check_values("sin", &[-2.0, -0.5, 0.0, 3.0], &[-0.9092974, -0.47942555, 0.0, 0.14112]);
}
