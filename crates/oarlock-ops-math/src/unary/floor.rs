//! `floor`: the largest integer not above x, element by element.

use crate::unary::formula::formula;

formula! {
    Floor: "floor", "floor_grad";
    out(x) = x.floor(), "Out = floor(X)";
    grad Nothing(_at, _dout) = T::ZERO, "X@GRAD = 0";
}

#[test]
fn floor() {
    use crate::testing::{check, tensor};
    check("floor")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.0]))
        .output("Out", tensor([4], &[-2.0, -1.0, 0.0, 2.0]))
        .run();
    // Between its jumps it is constant.
    check("floor").input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5])).any_output("Out").grad(&["X"]).run();
}
