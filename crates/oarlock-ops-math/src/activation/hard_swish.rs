//! `hard_swish`: x times a ramp from 0 to 1, element by element.

use crate::unary::formula::formula;

formula! {
    HardSwish: "hard_swish", "hard_swish_grad";
    attr threshold = 6.0, "end of the ramp";
    attr scale = 6.0, "divides the output";
    attr offset = 3.0, "added to `X` before the ramp";
    out(x) = (x + offset).max(T::ZERO).min(threshold) * x / scale,
        "Out = X * min(max(X + offset, 0), threshold) / scale";
    grad X(x, dout) = {
        let ramp = x + offset;
        if ramp >= threshold {
            dout
        } else if ramp > T::ZERO {
            dout * (T::of(2.0) * x + offset) / scale
        } else {
            T::ZERO
        }
    }, "X@GRAD = Out@GRAD above the ramp, (2 X + offset) / scale * Out@GRAD on it, 0 below";
}

#[test]
fn hard_swish() {
    crate::unary::formula::check_values("hard_swish", &[-4.0, -0.5, 0.25, 3.5], &[-0.0, -0.20833333, 0.13541667, 3.5]);
}
