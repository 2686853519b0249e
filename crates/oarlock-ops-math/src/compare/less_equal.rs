//! `less_equal`: whether x is at most y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<LessEqual>::OP];

struct LessEqual;

impl Predicate for LessEqual {
    const TYPE: &'static str = "less_equal";
    const DOC: &'static str = "Out = X <= Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x <= y
    }
}

#[test]
fn less_equal() {
    crate::compare::predicate::check_with_two("less_equal", &[true, true, false, false], &[true, true, false]);
}
