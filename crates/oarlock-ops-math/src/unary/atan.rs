//! `atan`: inverse tangent, element by element.

use crate::unary::formula::formula;

formula! {
    Atan: "atan", "atan_grad";
    out(x) = x.atan(), "Out = atan(X)";
    grad X(x, dout) = dout / (T::ONE + x * x), "X@GRAD = Out@GRAD / (1 + X^2)";
}

#[test]
fn atan() {
    crate::unary::formula::check_values("atan", &[-2.0, -0.25, 0.625], &[-1.1071488, -0.24497867, 0.5585993]);
}
