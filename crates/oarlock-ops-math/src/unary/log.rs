//! `log`: natural logarithm, element by element.

use oarlock_tensor::simd;

use crate::unary::formula::formula;

formula! {
    Log: "log", "log_grad";
    out(x) = x.fast_ln(), "Out = ln(X)";
    grad X(x, dout) = dout / x, "X@GRAD = Out@GRAD / X";
    loops simd::ln, simd::ln_assign;
}

#[test]
fn log() {
    crate::unary::formula::check_values("log", &[0.25, 1.5, 4.5], &[-1.3862944, 0.4054651, 1.5040774]);
}
