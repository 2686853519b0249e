//! `ceil`: the smallest integer not below x, element by element.

use crate::unary::formula::formula;

formula! {
    Ceil: "ceil", "ceil_grad";
    out(x) = x.ceil(), "Out = ceil(X)";
    grad Nothing(_at, _dout) = T::ZERO, "X@GRAD = 0";
}

#[test]
fn ceil() {
    use crate::testing::{check, tensor};
    check("ceil")
        .input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.0]))
        .output("Out", tensor([4], &[-1.0, -0.0, 1.0, 2.0]))
        .run();
    // Between its jumps it is constant.
    check("ceil").input("X", tensor([4], &[-1.5, -0.25, 0.75, 2.5])).any_output("Out").grad(&["X"]).run();
}
