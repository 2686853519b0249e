//! `elementwise_mul`: x y, with broadcasting.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::elementwise::binary::binary;

binary! {
    Mul: "elementwise_mul", "Out = X * Y", TAKES_ROWS;
    out(x, y) = x.times(y);
    loops mul_all, mul_by;
    grad "elementwise_mul_grad",
        "X@GRAD = Out@GRAD * Y and Y@GRAD = Out@GRAD * X, summed over what was broadcast", NEEDS_X, NEEDS_Y;
    dx(_, y, _, d) = d * y;
    dy(x, _, _, d) = d * x;
    double Mul;
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
