//! `equal`: whether x equals y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<Equal>::OP];

struct Equal;

impl Predicate for Equal {
    const TYPE: &'static str = "equal";
    const DOC: &'static str = "Out = X == Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x == y
    }
}

#[test]
fn equal() {
    crate::compare::predicate::check_with_two("equal", &[false, true, false, false], &[false, true, false]);
}
