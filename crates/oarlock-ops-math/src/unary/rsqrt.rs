//! `rsqrt`: 1 / sqrt(x), element by element.

use crate::unary::formula::formula;

formula! {
    Rsqrt: "rsqrt", "rsqrt_grad";
    out(x) = T::ONE / x.sqrt(), "Out = 1 / sqrt(X)";
    grad Out(out, dout) = T::of(-0.5) * dout * out * out * out, "X@GRAD = -Out@GRAD * Out^3 / 2";
}

#[test]
fn rsqrt() {
    crate::unary::formula::check_values("rsqrt", &[0.25, 1.5, 4.0], &[2.0, 0.8164966, 0.5]);
}
