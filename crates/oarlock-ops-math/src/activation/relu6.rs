//! `relu6`: max(x, 0) cut off at a threshold, element by element.

use crate::unary::formula::formula;

formula! {
    Relu6: "relu6", "relu6_grad";
    attr threshold = 6.0, "the largest output";
    out(x) = x.max(T::ZERO).min(threshold), "Out = min(max(X, 0), threshold)";
    grad Out(out, dout) = if out > T::ZERO && out < threshold { dout } else { T::ZERO },
        "X@GRAD = Out@GRAD where 0 < Out < threshold, else 0";
}

#[test]
fn relu6() {
    crate::unary::formula::check_values("relu6", &[-2.0, 0.5, 5.0, 7.0], &[0.0, 0.5, 5.0, 6.0]);
}
