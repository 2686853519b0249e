//! `elementwise_max`: the larger of x and y, with broadcasting.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::elementwise::binary::{Backward, Derivative, Formula, Forward, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Forward::<Max>::OP, &Backward::<Max>::OP];

struct Max;

impl Formula for Max {
    const TYPE: &'static str = "elementwise_max";
    const DOC: &'static str = "Out = max(X, Y)";

    fn value<T: Number>(x: T, y: T) -> T {
        if x < y { y } else { x }
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Max>(g)
    }
}

impl Derivative for Max {
    const GRAD_TYPE: &'static str = "elementwise_max_grad";
    const GRAD_DOC: &'static str =
        "X@GRAD = Out@GRAD where X > Y, Y@GRAD = Out@GRAD elsewhere, summed over what was broadcast";
    const NEEDS_X: bool = true;
    const NEEDS_Y: bool = true;

    fn dx<T: Float>(x: T, y: T, _: T, d: T) -> T {
        if x > y { d } else { T::ZERO }
    }

    fn dy<T: Float>(x: T, y: T, _: T, d: T) -> T {
        if x > y { T::ZERO } else { d }
    }
}

#[test]
fn max() {
    use crate::testing::{check, tensor};
    check("elementwise_max")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 8.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[1.0, 5.0, 0.5, 8.0]))
        .grad(&["X", "Y"])
        .run();
}
