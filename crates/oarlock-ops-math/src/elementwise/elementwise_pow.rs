//! `elementwise_pow`: x to the power y, with broadcasting.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::elementwise::binary::{Backward, Derivative, Formula, Forward, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Forward::<Pow>::OP, &Backward::<Pow>::OP];

struct Pow;

impl Formula for Pow {
    const TYPE: &'static str = "elementwise_pow";
    const DOC: &'static str = "Out = X^Y";

    fn value<T: Number>(x: T, y: T) -> T {
        x.to_the(y)
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Pow>(g)
    }
}

impl Derivative for Pow {
    const GRAD_TYPE: &'static str = "elementwise_pow_grad";
    const GRAD_DOC: &'static str =
        "X@GRAD = Out@GRAD * Y * X^(Y-1) and Y@GRAD = Out@GRAD * ln(X) * X^Y, summed over what was broadcast";
    const NEEDS_X: bool = true;
    const NEEDS_Y: bool = true;

    fn dx<T: Float>(x: T, y: T, _: T, d: T) -> T {
        d * y * x.powf(y - T::ONE)
    }

    fn dy<T: Float>(x: T, y: T, _: T, d: T) -> T {
        d * x.ln() * x.powf(y)
    }
}

#[test]
fn pow() {
    use crate::testing::{check, tensor};
    check("elementwise_pow")
        .input("X", tensor([2, 2], &[1.0, 2.0, 0.25, 4.0]))
        .input("Y", tensor([2], &[0.5, 2.0]))
        .output("Out", tensor([2, 2], &[1.0, 4.0, 0.5, 16.0]))
        .grad(&["X", "Y"])
        .run();
}
