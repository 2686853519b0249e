//! `elementwise_sub`: x - y, with broadcasting.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::elementwise::binary::binary;

binary! {
    Sub: "elementwise_sub", "Out = X - Y";
    out(x, y) = x.minus(y);
    loops sub_all, sub_from;
    grad "elementwise_sub_grad", "X@GRAD = Out@GRAD and Y@GRAD = -Out@GRAD, summed over what was broadcast";
    dx(_, _, _, d) = d;
    dy(_, _, _, d) = -d;
    double Sub;
}

impl DoubleGradient for Sub {
    const TYPE: &'static str = "elementwise_sub_grad_grad";
    const DOC: &'static str = "DDOut = DDX - DDY";
    const READS: &'static [&'static str] = &["Y", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];
    const BINARY: bool = true;

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx - p.ddy, T::ZERO, T::ZERO]
    }
}

#[test]
fn sub() {
    use crate::testing::{check, tensor};
    check("elementwise_sub")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[0.5, -3.0, 2.5, -1.0]))
        .grad(&["X", "Y"])
        .run();
}
