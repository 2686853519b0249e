//! `asin`: inverse sine, element by element.

use crate::unary::formula::formula;

formula! {
    Asin: "asin", "asin_grad";
    out(x) = x.asin(), "Out = asin(X)";
    grad X(x, dout) = dout / (T::ONE - x * x).sqrt(), "X@GRAD = Out@GRAD / sqrt(1 - X^2)";
}

#[test]
fn asin() {
    crate::unary::formula::check_values("asin", &[-0.75, -0.25, 0.625], &[-0.8480621, -0.25268024, 0.67513156]);
}
