//! `less_than`: whether x is less than y, with broadcasting.

use crate::compare::predicate::predicate;

predicate! { LessThan: "less_than", "Out = X < Y", |x, y| x < y }

#[test]
fn less_than() {
    crate::compare::predicate::check_with_two("less_than", &[true, false, false, false], &[true, false, false]);
}
