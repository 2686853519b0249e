//! `tanh`: hyperbolic tangent, element by element.

use oarlock_tensor::simd;

use crate::unary::formula::formula;

formula! {
    Tanh: "tanh", "tanh_grad";
    out(x) = x.fast_tanh(), "Out = tanh(X)";
    grad Out(out, dout) = dout * (T::ONE - out * out), "X@GRAD = Out@GRAD * (1 - Out^2)";
    loops simd::tanh, simd::tanh_assign;
}

#[test]
fn tanh() {
    crate::unary::formula::check_values("tanh", &[-2.0, -0.5, 0.0, 3.0], &[-0.9640276, -0.46211717, 0.0, 0.9950548]);
}
