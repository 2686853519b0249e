//! `less_than`: whether x is less than y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<LessThan>::OP];

struct LessThan;

impl Predicate for LessThan {
    const TYPE: &'static str = "less_than";
    const DOC: &'static str = "Out = X < Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x < y
    }
}

#[test]
fn less_than() {
    crate::compare::predicate::check_with_two("less_than", &[true, false, false, false], &[true, false, false]);
}
