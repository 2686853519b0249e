//! `logsigmoid`: ln(sigmoid(x)), element by element.

use crate::unary::formula::formula;

formula! {
    Logsigmoid: "logsigmoid", "logsigmoid_grad";
    out(x) = x.min(T::ZERO) - (-x.abs()).fast_exp().ln_1p(), "Out = ln(1 / (1 + exp(-X)))";
    grad X(x, dout) = dout / (T::ONE + x.fast_exp()), "X@GRAD = Out@GRAD / (1 + exp(X))";
}

#[test]
fn logsigmoid() {
    crate::unary::formula::check_values(
        "logsigmoid",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-2.126928, -0.974077, -0.5759394, -0.048587352],
    );
}
