//! `greater_equal`: whether x is at least y, with broadcasting.

use oarlock_ir::OpDef;

use crate::compare::predicate::{Compare, Predicate};

pub(crate) const OPS: &[&dyn OpDef] = &[&Compare::<GreaterEqual>::OP];

struct GreaterEqual;

impl Predicate for GreaterEqual {
    const TYPE: &'static str = "greater_equal";
    const DOC: &'static str = "Out = X >= Y";

    fn holds<T: PartialOrd>(x: T, y: T) -> bool {
        x >= y
    }
}

#[test]
fn greater_equal() {
    crate::compare::predicate::check_with_two("greater_equal", &[false, true, true, false], &[false, true, true]);
}
