//! `elementwise_div`: x / y, with broadcasting.

use oarlock_ops_support::double_gradient::{DoubleGradient, Of, Point};
use oarlock_tensor::Float;

use crate::elementwise::binary::binary;

binary! {
    Div: "elementwise_div", "Out = X / Y; integers truncate", DIVIDES;
    out(x, y) = x.over(y);
    grad "elementwise_div_grad",
        "X@GRAD = Out@GRAD / Y and Y@GRAD = -Out@GRAD * Out / Y, summed over what was broadcast", NEEDS_Y, NEEDS_OUT;
    dx(_, y, _, d) = d / y;
    dy(_, y, out, d) = -d * out / y;
    double Div;
}

impl DoubleGradient for Div {
    const TYPE: &'static str = "elementwise_div_grad_grad";
    const DOC: &'static str = "DDOut = (DDX - Out * DDY) / Y; DOut = -DX * DDY; Y@GRAD = -DX * DDOut";
    const READS: &'static [&'static str] = &["Y", "Out", "DX"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DOut", Of::Out), ("Y@GRAD", Of::Y)];
    const BINARY: bool = true;

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        let ddout = (p.ddx - p.out * p.ddy) / p.y;
        [ddout, -p.dx * p.ddy, -p.dx * ddout]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of};

    #[test]
    fn div() {
        check("elementwise_div")
            .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("Y", tensor([2], &[0.5, 5.0]))
            .output("Out", tensor([2, 2], &[2.0, 0.4, 6.0, 0.8]))
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn integers() {
        check("elementwise_div")
            .input("X", tensor_of::<i32>([3], &[7, -7, 4]))
            .input("Y", tensor_of::<i32>([3], &[2, 2, -1]))
            .output("Out", tensor_of::<i32>([3], &[3, -3, -4]))
            .run();
        let by_zero = check("elementwise_div")
            .input("X", tensor_of::<i64>([2], &[1, 2]))
            .input("Y", tensor_of::<i64>([2], &[1, 0]))
            .any_output("Out");
        assert_eq!(
            by_zero.error(),
            "error[argument]: `elementwise_div`: input `Y` = `Y.0` is 0 at element 1: integers cannot be divided by 0\n  \
             at (`elementwise_div`, block 0, op 0)"
        );
    }
}
