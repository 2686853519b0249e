//! `swish`: x * sigmoid(beta * x), element by element.

use crate::unary::formula::formula;

formula! {
    Swish: "swish", "swish_grad";
    attr beta = 1.0, "steepness";
    out(x) = x / (T::ONE + (-beta * x).fast_exp()), "Out = X / (1 + exp(-beta * X))";
    grad X(x, dout) = {
        let s = T::ONE / (T::ONE + (-beta * x).fast_exp());
        let out = x * s;
        dout * (beta * out + s * (T::ONE - beta * out))
    }, "X@GRAD = Out@GRAD * (beta * Out + s * (1 - beta * Out)) with s = sigmoid(beta * X)";
}

#[test]
fn swish() {
    use crate::testing::{check, tensor};
    check("swish")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("beta", 0.5f32)
        .output("Out", tensor([4], &[-0.53788286, -0.21891175, 0.13280234, 2.4527235]))
        .grad(&["X"])
        .run();
}
