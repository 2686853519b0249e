//! `greater_equal`: whether x is at least y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { GreaterEqual: "greater_equal", "Out = X >= Y", |x, y| x >= y }

#[test]
fn greater_equal() {
    crate::compare::predicate::check_with_two("greater_equal", &[false, true, true, false], &[false, true, true]);
}
