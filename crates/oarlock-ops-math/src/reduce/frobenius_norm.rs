//! `frobenius_norm`: the square root of the sum of squares along some axes.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::reduce::reduction::{Reduce, ReduceGrad, Reduction, ReductionGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Reduce::<Frobenius>::OP, &ReduceGrad::<Frobenius>::OP];

struct Frobenius;

impl Reduction for Frobenius {
    const TYPE: &'static str = "frobenius_norm";
    const DOC: &'static str = "Out = the square root of the sum of X * X along `dim`";

    fn start<T: Number>() -> T {
        T::ZERO
    }

    fn term<T: Number>(x: T) -> T {
        x.times(x)
    }

    fn step<T: Number>(a: T, b: T) -> T {
        a.plus(b)
    }

    fn finish<T: Number>(folded: T, _count: usize) -> T {
        T::from_f64(folded.to_f64().sqrt())
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        g.emit("frobenius_norm_grad", &["X", "Out", "Out@GRAD"], &["X@GRAD"])
    }
}

impl ReductionGrad for Frobenius {
    const GRAD_TYPE: &'static str = "frobenius_norm_grad";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * X / Out, 0 where X is 0";
    const NEEDS_VALUES: bool = true;

    fn dx<T: Float>(x: T, out: T, d: T, _: usize) -> T {
        if x == T::ZERO { T::ZERO } else { d * x / out }
    }
}

#[test]
fn frobenius_norm() {
    use crate::testing::{check, noise, tensor};
    let norm = || check("frobenius_norm").input("X", tensor([2, 2], &[3.0, -4.0, 5.0, 12.0]));
    norm().attr("dim", vec![1]).output("Out", tensor([2], &[5.0, 13.0])).grad(&["X"]).run();
    norm().attr("reduce_all", true).attr("keep_dim", true).any_output("Out").grad(&["X"]).run();
    check("frobenius_norm")
        .input("X", noise([2, 20, 2], 1))
        .attr("dim", vec![0, 1])
        .any_output("Out")
        .grad(&["X"])
        .run();
}
