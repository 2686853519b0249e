//! `greater_than`: whether x is greater than y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { GreaterThan: "greater_than", "Out = X > Y", |x, y| x > y }

#[test]
fn greater_than() {
    crate::compare::predicate::check_with_two("greater_than", &[false, false, true, false], &[false, false, true]);
}
