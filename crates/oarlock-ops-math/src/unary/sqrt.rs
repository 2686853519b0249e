//! `sqrt`: square root, element by element.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::unary::formula::formula;

formula! {
    Sqrt: "sqrt", "sqrt_grad";
    out(x) = x.sqrt(), "Out = sqrt(X)";
    grad Out(out, dout) = dout * T::of(0.5) / out, "X@GRAD = Out@GRAD / (2 * Out)";
    double Sqrt;
}

impl DoubleGradient for Sqrt {
    const TYPE: &'static str = "sqrt_grad_grad";
    const DOC: &'static str = "DDOut = DDX / (2 * Out); DOut = -DX * DDX / Out";
    const READS: &'static [&'static str] = &["Out", "DX"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DOut", Of::Out)];

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx / (p.out + p.out), -p.dx * p.ddx / p.out, T::ZERO]
    }
}

#[test]
fn sqrt() {
    crate::unary::formula::check_values("sqrt", &[0.25, 1.5, 4.0], &[0.5, 1.2247449, 2.0]);
}
