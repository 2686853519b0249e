//! `soft_relu`: ln(1 + exp(x)) with x cut off at a threshold, element by element.

use crate::unary::formula::formula;

formula! {
    SoftRelu: "soft_relu", "soft_relu_grad";
    attr threshold = 40.0, "largest magnitude of the input";
    out(x) = x.max(-threshold).min(threshold).fast_exp().ln_1p(),
        "Out = ln(1 + exp(max(min(X, threshold), -threshold)))";
    grad Out(out, dout) = if out > -threshold && out < threshold { dout * (T::ONE - (-out).fast_exp()) } else { T::ZERO },
        "X@GRAD = Out@GRAD * (1 - exp(-Out)) where -threshold < Out < threshold, else 0";
}

#[test]
fn soft_relu() {
    crate::unary::formula::check_values(
        "soft_relu",
        &[-2.0, -0.5, 0.25, 3.0],
        &[0.12692802, 0.474077, 0.8259394, 3.0485873],
    );
}
