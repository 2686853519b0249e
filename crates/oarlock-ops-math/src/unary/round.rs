//! `round`: the nearest integer, element by element; halves go away from 0.

use crate::unary::formula::formula;

formula! {
    Round: "round", "round_grad";
    out(x) = x.round(), "Out = X rounded to the nearest integer, halves away from 0";
    grad Nothing(_at, _dout) = T::ZERO, "X@GRAD = 0";
}

#[test]
fn round() {
    use crate::testing::{check, tensor};
    check("round")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5]))
        .output("Out", tensor([4], &[-2.0, -0.0, 1.0, 3.0]))
        .run();
    // Between its jumps it is constant.
    check("round").input("X", tensor([4], &[-1.25, -0.25, 0.75, 2.25])).any_output("Out").grad(&["X"]).run();
}
