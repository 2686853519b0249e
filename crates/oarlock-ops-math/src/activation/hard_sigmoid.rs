//! `hard_sigmoid`: slope * x + offset cut off at 0 and 1, element by element.

use crate::unary::formula::formula;

formula! {
    HardSigmoid: "hard_sigmoid", "hard_sigmoid_grad";
    attr slope = 0.2, "slope between the bounds";
    attr offset = 0.5, "value at 0";
    out(x) = (x * slope + offset).min(T::ONE).max(T::ZERO), "Out = max(min(slope * X + offset, 1), 0)";
    grad Out(out, dout) = if out > T::ZERO && out < T::ONE { dout * slope } else { T::ZERO },
        "X@GRAD = slope * Out@GRAD where 0 < Out < 1, else 0";
}

#[test]
fn hard_sigmoid() {
    crate::unary::formula::check_values("hard_sigmoid", &[-4.0, -0.5, 0.25, 3.5], &[0.0, 0.4, 0.55, 1.0]);
}
