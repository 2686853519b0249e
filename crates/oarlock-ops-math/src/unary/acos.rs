//! `acos`: inverse cosine, element by element.

use crate::unary::formula::formula;

formula! {
    Acos: "acos", "acos_grad";
    out(x) = x.acos(), "Out = acos(X)";
    grad X(x, dout) = -dout / (T::ONE - x * x).sqrt(), "X@GRAD = -Out@GRAD / sqrt(1 - X^2)";
}

#[test]
fn acos() {
    crate::unary::formula::check_values("acos", &[-0.75, -0.25, 0.625], &[2.4188583, 1.8234766, 0.8956648]);
}
