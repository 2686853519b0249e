//! `not_equal`: whether x differs from y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<NotEqual>::OP];

struct NotEqual;

impl Predicate for NotEqual {
    const TYPE: &'static str = "not_equal";
    const DOC: &'static str = "Out = X != Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x != y
    }
}

#[test]
fn not_equal() {
    crate::compare::predicate::check_with_two("not_equal", &[true, false, true, true], &[true, false, true]);
}
