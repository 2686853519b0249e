//! `greater_than`: whether x is greater than y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<GreaterThan>::OP];

struct GreaterThan;

impl Predicate for GreaterThan {
    const TYPE: &'static str = "greater_than";
    const DOC: &'static str = "Out = X > Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x > y
    }
}

#[test]
fn greater_than() {
    crate::compare::predicate::check_with_two("greater_than", &[false, false, true, false], &[false, false, true]);
}
