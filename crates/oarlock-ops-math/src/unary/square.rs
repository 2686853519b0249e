//! `square`: x * x, element by element.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::unary::formula::formula;

formula! {
    Square: "square", "square_grad";
    out(x) = x * x, "Out = X * X";
    grad X(x, dout) = dout * T::of(2.0) * x, "X@GRAD = 2 * X * Out@GRAD";
    integers |x| x.wrapping_mul(x);
    double Square;
}

impl DoubleGradient for Square {
    const TYPE: &'static str = "square_grad_grad";
    const DOC: &'static str = "DDOut = 2 * X * DDX; DX = 2 * DOut * DDX";
    const READS: &'static [&'static str] = &["X", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DX", Of::X)];

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        let twice = p.ddx + p.ddx;
        [p.x * twice, p.dout * twice, T::ZERO]
    }
}

#[test]
fn square() {
    crate::unary::formula::check_values("square", &[-1.5, 0.5, 2.0], &[2.25, 0.25, 4.0]);
}
