//! `brelu`: x cut off at two bounds, element by element.

use crate::unary::formula::formula;

formula! {
    Brelu: "brelu", "brelu_grad";
    attr t_min = 0.0, "lower bound";
    attr t_max = 24.0, "upper bound";
    out(x) = x.min(t_max).max(t_min), "Out = max(min(X, t_max), t_min)";
    grad X(x, dout) = if x > t_min && x < t_max { dout } else { T::ZERO },
        "X@GRAD = Out@GRAD where t_min < X < t_max, else 0";
}

#[test]
fn brelu() {
    use crate::testing::{check, tensor};
    check("brelu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("t_min", -1.0f32)
        .attr("t_max", 1.5f32)
        .output("Out", tensor([4], &[-1.0, -0.5, 0.25, 1.5]))
        .grad(&["X"])
        .run();
}
