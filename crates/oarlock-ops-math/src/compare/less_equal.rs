//! `less_equal`: whether x is at most y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { LessEqual: "less_equal", "Out = X <= Y", |x, y| x <= y }

#[test]
fn less_equal() {
    crate::compare::predicate::check_with_two("less_equal", &[true, true, false, false], &[true, true, false]);
}
