//! `elementwise_min`: the smaller of x and y, with broadcasting.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::elementwise::binary::{Backward, Derivative, Formula, Forward, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Forward::<Min>::OP, &Backward::<Min>::OP];

struct Min;

impl Formula for Min {
    const TYPE: &'static str = "elementwise_min";
    const DOC: &'static str = "Out = min(X, Y)";

    fn value<T: Number>(x: T, y: T) -> T {
        if y < x { y } else { x }
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Min>(g)
    }
}

impl Derivative for Min {
    const GRAD_TYPE: &'static str = "elementwise_min_grad";
    const GRAD_DOC: &'static str =
        "X@GRAD = Out@GRAD where X < Y, Y@GRAD = Out@GRAD elsewhere, summed over what was broadcast";
    const NEEDS_X: bool = true;
    const NEEDS_Y: bool = true;

    fn dx<T: Float>(x: T, y: T, _: T, d: T) -> T {
        if x < y { d } else { T::ZERO }
    }

    fn dy<T: Float>(x: T, y: T, _: T, d: T) -> T {
        if x < y { T::ZERO } else { d }
    }
}

#[test]
fn min() {
    use crate::testing::{check, tensor};
    check("elementwise_min")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 8.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[0.5, 2.0, 0.25, 5.0]))
        .grad(&["X", "Y"])
        .run();
}
