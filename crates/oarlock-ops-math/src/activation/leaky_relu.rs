//! `leaky_relu`: x, but alpha * x below 0, element by element.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::unary::formula::formula;

formula! {
    LeakyRelu: "leaky_relu", "leaky_relu_grad";
    attr alpha = 0.02, "slope below 0";
    out(x) = x.max(alpha * x), "Out = max(X, alpha * X)";
    grad Out(out, dout) = if out > T::ZERO { dout } else { alpha * dout },
        "X@GRAD = Out@GRAD where Out > 0, else alpha * Out@GRAD";
    double LeakyRelu;
}

impl DoubleGradient for LeakyRelu {
    const TYPE: &'static str = "leaky_relu_grad_grad";
    const DOC: &'static str = "DDOut = DDX where Out > 0, else alpha * DDX";
    const READS: &'static [&'static str] = &["Out"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];
    const ALPHA: Option<f32> = Some(0.02);

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [if p.out > T::ZERO { p.ddx } else { p.alpha * p.ddx }, T::ZERO, T::ZERO]
    }
}

#[test]
fn leaky_relu() {
    use crate::testing::{check, tensor};
    check("leaky_relu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("alpha", 0.25f32)
        .output("Out", tensor([4], &[-0.5, -0.125, 0.25, 3.0]))
        .grad(&["X"])
        .run();
}
