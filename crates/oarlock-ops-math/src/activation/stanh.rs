//! `stanh`: scaled hyperbolic tangent, element by element.

use crate::unary::formula::formula;

formula! {
    Stanh: "stanh", "stanh_grad";
    attr scale_a = 0.67, "factor of the input";
    attr scale_b = 1.7159, "factor of the output";
    out(x) = scale_b * (scale_a * x).fast_tanh(), "Out = scale_b * tanh(scale_a * X)";
    grad X(x, dout) = {
        let (a, b) = (scale_a, scale_b);
        let t = (a * x).fast_tanh();
        dout * a * b * (T::ONE - t * t)
    }, "X@GRAD = Out@GRAD * scale_a * scale_b * (1 - tanh(scale_a * X)^2)";
}

#[test]
fn stanh() {
    use crate::testing::{check, tensor};
    check("stanh")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("scale_a", 0.5f32)
        .attr("scale_b", 1.5f32)
        .output("Out", tensor([4], &[-1.1423912, -0.367378, 0.1865295, 1.3577224]))
        .grad(&["X"])
        .run();
}
