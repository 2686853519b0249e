//! `tanh_shrink`: x - tanh(x), element by element.

use crate::unary::formula::formula;

formula! {
    TanhShrink: "tanh_shrink", "tanh_shrink_grad";
    out(x) = x - x.fast_tanh(), "Out = X - tanh(X)";
    grad X(x, dout) = {
        let t = x.fast_tanh();
        dout * t * t
    }, "X@GRAD = Out@GRAD * tanh(X)^2";
}

#[test]
fn tanh_shrink() {
    crate::unary::formula::check_values(
        "tanh_shrink",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-1.0359725, -0.037882842, 0.0050813374, 2.0049453],
    );
}
