//! `abs`: absolute value, element by element.

use oarlock_ops_support::pointwise::sign;

use crate::unary::formula::formula;

formula! {
    Abs: "abs", "abs_grad";
    out(x) = x.abs(), "Out = |X|";
    grad X(x, dout) = dout * sign(x), "X@GRAD = Out@GRAD * sign(X), 0 at 0";
    integers i64::wrapping_abs;
}

#[test]
fn abs() {
    crate::unary::formula::check_values("abs", &[-1.5, 0.5, 2.0], &[1.5, 0.5, 2.0]);
}
