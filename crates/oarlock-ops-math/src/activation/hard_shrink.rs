//! `hard_shrink`: x, but 0 where it is small, element by element.

use crate::unary::formula::formula;

formula! {
    HardShrink: "hard_shrink", "hard_shrink_grad";
    attr threshold = 0.5, "what counts as small";
    out(x) = if x.abs() > threshold { x } else { T::ZERO }, "Out = X where |X| > threshold, else 0";
    grad X(x, dout) = if x.abs() > threshold { dout } else { T::ZERO },
        "X@GRAD = Out@GRAD where |X| > threshold, else 0";
}

#[test]
fn hard_shrink() {
    crate::unary::formula::check_values("hard_shrink", &[-2.0, -0.25, 0.25, 3.0], &[-2.0, 0.0, 0.0, 3.0]);
}
