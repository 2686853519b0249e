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
    use oarlock_tensor::B8;

    use crate::testing::{check, tensor, tensor_of};
    let bools = |v: &[bool]| v.iter().map(|&b| B8::from(b)).collect::<Vec<_>>();
    check("less_than")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, f32::NAN]))
        .input("Y", tensor([2], &[2.0, 2.0]))
        .output("Out", tensor_of([2, 2], &bools(&[true, false, false, false])))
        .run();
    check("less_than")
        .input("X", tensor_of::<i64>([3], &[1, 2, 3]))
        .input("Y", tensor_of::<i64>([1], &[2]))
        .output("Out", tensor_of([3], &bools(&[true, false, false])))
        .run();
}
