//! `elementwise_sub`: x - y, with broadcasting.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::elementwise::binary::{Backward, Derivative, Formula, Forward, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Forward::<Sub>::OP, &Backward::<Sub>::OP, &GradGrad::<Sub>::OP];

struct Sub;

impl Formula for Sub {
    const TYPE: &'static str = "elementwise_sub";
    const DOC: &'static str = "Out = X - Y";

    fn value<T: Number>(x: T, y: T) -> T {
        x.minus(y)
    }

    fn zip<T: Number>(out: &mut [T], x: &[T], y: &[T]) {
        T::sub_all(out, x, y);
    }

    fn update<T: Number>(x: &mut [T], y: &[T]) {
        T::sub_from(x, y);
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Sub>(g)
    }
}

impl Derivative for Sub {
    const GRAD_TYPE: &'static str = "elementwise_sub_grad";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD and Y@GRAD = -Out@GRAD, summed over what was broadcast";
    const NEEDS_X: bool = false;
    const NEEDS_Y: bool = false;

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<Sub>(g)
    }

    fn dx<T: Float>(_: T, _: T, _: T, d: T) -> T {
        d
    }

    fn dy<T: Float>(_: T, _: T, _: T, d: T) -> T {
        -d
    }
}

impl DoubleGradient for Sub {
    const TYPE: &'static str = "elementwise_sub_grad_grad";
    const DOC: &'static str = "DDOut = DDX - DDY";
    const READS: &'static [&'static str] = &["Y", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];
    const BINARY: bool = true;

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx - p.ddy, T::ZERO, T::ZERO]
    }
}

#[test]
fn sub() {
    use crate::testing::{check, tensor};
    check("elementwise_sub")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Y", tensor([2], &[0.5, 5.0]))
        .output("Out", tensor([2, 2], &[0.5, -3.0, 2.5, -1.0]))
        .grad(&["X", "Y"])
        .run();
}
