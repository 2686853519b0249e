//! `thresholded_relu`: x above a threshold, else 0, element by element.

use crate::unary::formula::formula;

formula! {
    ThresholdedRelu: "thresholded_relu", "thresholded_relu_grad";
    attr threshold = 1.0, "what counts as large";
    out(x) = if x > threshold { x } else { T::ZERO }, "Out = X where X > threshold, else 0";
    grad X(x, dout) = if x > threshold { dout } else { T::ZERO }, "X@GRAD = Out@GRAD where X > threshold, else 0";
}

#[test]
fn thresholded_relu() {
    crate::unary::formula::check_values("thresholded_relu", &[-2.0, -0.5, 0.25, 3.0], &[0.0, 0.0, 0.0, 3.0]);
}
