//! `reduce_min`: the minimum along some axes.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::reduce::reduction::{Reduce, ReduceGrad, Reduction, ReductionGrad, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Reduce::<Min>::OP, &ReduceGrad::<Min>::OP];

struct Min;

impl Reduction for Min {
    const TYPE: &'static str = "reduce_min";
    const DOC: &'static str = "Out = minimum of X along `dim`";

    fn start<T: Number>() -> T {
        T::HIGHEST
    }

    fn step<T: Number>(a: T, b: T) -> T {
        if b < a { b } else { a }
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Min>(g)
    }
}

impl ReductionGrad for Min {
    const GRAD_TYPE: &'static str = "reduce_min_grad";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD where X is the minimum, also if several are, else 0";
    const NEEDS_VALUES: bool = true;

    fn dx<T: Float>(x: T, out: T, d: T, _: usize) -> T {
        if x == out { d } else { T::ZERO }
    }
}

#[test]
fn min() {
    use crate::testing::{check, tensor};
    let reduce = || check("reduce_min").input("X", tensor([2, 3], &[1.0, 2.0, 0.5, -1.0, 4.0, 3.0]));
    reduce().attr("dim", vec![0]).output("Out", tensor([3], &[-1.0, 2.0, 0.5])).grad(&["X"]).run();
    reduce()
        .attr("dim", vec![-1])
        .attr("keep_dim", true)
        .output("Out", tensor([2, 1], &[0.5, -1.0]))
        .grad(&["X"])
        .run();
    reduce().attr("reduce_all", true).output("Out", tensor([1], &[-1.0])).grad(&["X"]).run();
}
