//! `sigmoid`: 1 / (1 + exp(-x)), element by element.

use oarlock_tensor::simd;

use crate::unary::formula::formula;

formula! {
    Sigmoid: "sigmoid", "sigmoid_grad";
    out(x) = x.fast_sigmoid(), "Out = 1 / (1 + exp(-X))";
    grad Out(out, dout) = dout * out * (T::ONE - out), "X@GRAD = Out@GRAD * Out * (1 - Out)";
    loops simd::sigmoid, simd::sigmoid_assign;
}

#[test]
fn sigmoid() {
    crate::unary::formula::check_values("sigmoid", &[-2.0, -0.5, 0.0, 3.0], &[0.11920292, 0.37754068, 0.5, 0.95257413]);
}
