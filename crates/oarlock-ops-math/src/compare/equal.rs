//! `equal`: whether x equals y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { Equal: "equal", "Out = X == Y", |x, y| x == y }

#[test]
fn equal() {
    crate::compare::predicate::check_with_two("equal", &[false, true, false, false], &[false, true, false]);
}
