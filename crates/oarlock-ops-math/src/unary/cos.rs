//! `cos`: cosine, element by element.

use crate::unary::formula::formula;

formula! {
    Cos: "cos", "cos_grad";
    out(x) = x.cos(), "Out = cos(X)";
    grad X(x, dout) = -dout * x.sin(), "X@GRAD = -Out@GRAD * sin(X)";
}

#[test]
fn cos() {
    crate::unary::formula::check_values("cos", &[-2.0, -0.5, 0.0, 3.0], &[-0.41614684, 0.87758255, 1.0, -0.9899925]);
}
