//! `softplus`: ln(1 + exp(x)), element by element.

use crate::unary::formula::formula;

formula! {
    Softplus: "softplus", "softplus_grad";
    out(x) = x.max(T::ZERO) + (-x.abs()).fast_exp().ln_1p(), "Out = ln(1 + exp(X))";
    grad X(x, dout) = dout / (T::ONE + (-x).fast_exp()), "X@GRAD = Out@GRAD / (1 + exp(-X))";
}

#[test]
fn softplus() {
    crate::unary::formula::check_values(
        "softplus",
        &[-2.0, -0.5, 0.25, 3.0],
        &[0.12692802, 0.474077, 0.8259394, 3.0485873],
    );
}
