//! `elu`: x, but alpha * (exp(x) - 1) below 0, element by element.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::unary::formula::formula;

formula! {
    Elu: "elu", "elu_grad";
    attr alpha = 1.0, "depth below 0";
    out(x) = x.max(T::ZERO) + (alpha * (x.fast_exp() - T::ONE)).min(T::ZERO),
        "Out = max(X, 0) + min(alpha * (exp(X) - 1), 0)";
    grad X(x, dout) = if x > T::ZERO { dout } else { dout * alpha * x.fast_exp() },
        "X@GRAD = Out@GRAD where X > 0, else alpha * exp(X) * Out@GRAD";
    double Elu;
}

impl DoubleGradient for Elu {
    const TYPE: &'static str = "elu_grad_grad";
    const DOC: &'static str =
        "DDOut = DDX * the slope of elu at X; DX = DOut * DDX * alpha * exp(X) where X < 0, else 0";
    const READS: &'static [&'static str] = &["X", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DX", Of::X)];
    const ALPHA: Option<f32> = Some(1.0);

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        if p.x > T::ZERO {
            return [p.ddx, T::ZERO, T::ZERO];
        }
        let bent = p.ddx * p.alpha * p.x.exp();
        [bent, p.dout * bent, T::ZERO]
    }
}

#[test]
fn elu() {
    use crate::testing::{check, tensor};
    check("elu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("alpha", 0.5f32)
        .output("Out", tensor([4], &[-0.43233237, -0.19673467, 0.25, 3.0]))
        .grad(&["X"])
        .run();
}
