//! `log1p`: ln(1 + x), element by element.

use crate::unary::formula::formula;

formula! {
    Log1p: "log1p", "log1p_grad";
    out(x) = x.ln_1p(), "Out = ln(1 + X)";
    grad X(x, dout) = dout / (T::ONE + x), "X@GRAD = Out@GRAD / (1 + X)";
}

#[test]
fn log1p() {
    crate::unary::formula::check_values("log1p", &[-0.25, 0.25, 3.0], &[-0.2876821, 0.22314355, 1.3862944]);
}
