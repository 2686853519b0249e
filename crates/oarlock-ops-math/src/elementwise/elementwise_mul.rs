//! `elementwise_mul`: x y, with broadcasting.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::elementwise::binary::{Backward, Derivative, Formula, Forward, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Forward::<Mul>::OP, &Backward::<Mul>::OP, &GradGrad::<Mul>::OP];

struct Mul;

impl Formula for Mul {
    const TYPE: &'static str = "elementwise_mul";
    const DOC: &'static str = "Out = X * Y";
    const TAKES_ROWS: bool = true;

    fn value<T: Number>(x: T, y: T) -> T {
        x.times(y)
    }

    fn zip<T: Number>(out: &mut [T], x: &[T], y: &[T]) {
        T::mul_all(out, x, y);
    }

    fn update<T: Number>(x: &mut [T], y: &[T]) {
        T::mul_by(x, y);
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Mul>(g)
    }
}

impl Derivative for Mul {
    const GRAD_TYPE: &'static str = "elementwise_mul_grad";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * Y and Y@GRAD = Out@GRAD * X, summed over what was broadcast";
    const NEEDS_X: bool = true;
    const NEEDS_Y: bool = true;

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<Mul>(g)
    }

    fn dx<T: Float>(_: T, y: T, _: T, d: T) -> T {
        d * y
    }

    fn dy<T: Float>(x: T, _: T, _: T, d: T) -> T {
        d * x
    }
}

impl DoubleGradient for Mul {
    const TYPE: &'static str = "elementwise_mul_grad_grad";
    const DOC: &'static str = "DDOut = DDX * Y + X * DDY; X@GRAD = DOut * DDY; Y@GRAD = DOut * DDX";
    const READS: &'static [&'static str] = &["X", "Y", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("X@GRAD", Of::X), ("Y@GRAD", Of::Y)];
    const BINARY: bool = true;

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx * p.y + p.x * p.ddy, p.dout * p.ddy, p.dout * p.ddx]
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor};

    #[test]
    fn mul() {
        check("elementwise_mul")
            .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("Y", tensor([2], &[0.5, 5.0]))
            .output("Out", tensor([2, 2], &[0.5, 10.0, 1.5, 20.0]))
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn selected_rows_by_a_number() {
        let rows = |data: &[f32]| SelectedRows { rows: vec![4, 1], height: 6, value: tensor([2, 2], data) };
        let mul = || check("elementwise_mul").rows_input("X", &[4, 1], 6, tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]));
        mul().input("Y", tensor([1], &[0.5])).output("Out", Value::Rows(rows(&[0.5, 1.0, 1.5, 2.0]))).run();
        assert_eq!(
            mul().input("Y", tensor([2], &[0.5, 1.0])).any_output("Out").error(),
            "error[shape]: `elementwise_mul`: input `Y` = `Y.0` must be one number, because `X` is selected rows\n  \
             at (`elementwise_mul`, block 0, op 0)"
        );
    }
}
