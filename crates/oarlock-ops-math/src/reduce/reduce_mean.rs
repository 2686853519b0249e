//! `reduce_mean`: the mean along some axes.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::reduce::reduction::{Reduce, ReduceGrad, Reduction, ReductionGrad, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Reduce::<Mean>::OP, &ReduceGrad::<Mean>::OP];

struct Mean;

impl Reduction for Mean {
    const TYPE: &'static str = "reduce_mean";
    const DOC: &'static str = "Out = mean of X along `dim`";

    fn start<T: Number>() -> T {
        T::ZERO
    }

    fn step<T: Number>(a: T, b: T) -> T {
        a.plus(b)
    }

    fn finish<T: Number>(folded: T, count: usize) -> T {
        folded.over(T::from_i64(count as i64))
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Mean>(g)
    }
}

impl ReductionGrad for Mean {
    const GRAD_TYPE: &'static str = "reduce_mean_grad";
    const GRAD_DOC: &'static str =
        "X@GRAD = Out@GRAD of the mean that the element went into, divided by the number of its elements";
    const NEEDS_VALUES: bool = false;
    const LINEAR: bool = true;

    fn dx<T: Float>(_: T, _: T, d: T, count: usize) -> T {
        d / T::of(count as f64)
    }
}

#[test]
fn mean() {
    use crate::testing::{check, tensor};
    let reduce = || check("reduce_mean").input("X", tensor([2, 3], &[1.0, 2.0, 0.5, -1.0, 4.0, 3.0]));
    reduce().attr("dim", vec![0]).output("Out", tensor([3], &[0.0, 3.0, 1.75])).grad(&["X"]).run();
    reduce()
        .attr("dim", vec![-1])
        .attr("keep_dim", true)
        .output("Out", tensor([2, 1], &[3.5 / 3.0, 2.0]))
        .grad(&["X"])
        .run();
    reduce().attr("reduce_all", true).output("Out", tensor([1], &[9.5 / 6.0])).grad(&["X"]).run();
}
