//! `exp`: e^x, element by element.

use oarlock_tensor::simd;

use crate::unary::formula::formula;

formula! {
    Exp: "exp", "exp_grad";
    out(x) = x.fast_exp(), "Out = exp(X)";
    grad Out(out, dout) = dout * out, "X@GRAD = Out@GRAD * Out";
    loops simd::exp, simd::exp_assign;
}

#[test]
fn exp() {
    crate::unary::formula::check_values("exp", &[-2.0, -0.5, 0.0, 1.5], &[0.13533528, 0.60653067, 1.0, 4.481689]);
}
