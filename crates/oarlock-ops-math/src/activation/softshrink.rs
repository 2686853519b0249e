//! `softshrink`: x moved towards 0 by lambda, element by element.

use crate::unary::formula::formula;

formula! {
    Softshrink: "softshrink", "softshrink_grad";
    attr lambda = 0.5, "how far";
    out(x) = {
        if x > lambda {
            x - lambda
        } else if x < -lambda {
            x + lambda
        } else {
            T::ZERO
        }
    }, "Out = X - lambda where X > lambda, X + lambda where X < -lambda, else 0";
    grad X(x, dout) = if x.abs() > lambda { dout } else { T::ZERO }, "X@GRAD = Out@GRAD where |X| > lambda, else 0";
}

#[test]
fn softshrink() {
    use crate::testing::{check, tensor};
    check("softshrink")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .output("Out", tensor([4], &[-1.5, 0.0, 0.0, 2.5]))
        .run();
    check("softshrink").input("X", tensor([3], &[-2.0, 0.25, 3.0])).any_output("Out").grad(&["X"]).run();
}
