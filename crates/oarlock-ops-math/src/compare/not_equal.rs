//! `not_equal`: whether x differs from y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { NotEqual: "not_equal", "Out = X != Y", |x, y| x != y }

#[test]
fn not_equal() {
    crate::compare::predicate::check_with_two("not_equal", &[true, false, true, true], &[true, false, true]);
}
