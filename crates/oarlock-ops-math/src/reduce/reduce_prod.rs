//! `reduce_prod`: the product along some axes.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::number::Number;
use oarlock_tensor::Float;

use crate::reduce::reduction::{Reduce, ReduceGrad, Reduction, ReductionGrad, emit_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Reduce::<Prod>::OP, &ReduceGrad::<Prod>::OP];

struct Prod;

impl Reduction for Prod {
    const TYPE: &'static str = "reduce_prod";
    const DOC: &'static str = "Out = product of X along `dim`";

    fn start<T: Number>() -> T {
        T::ONE
    }

    fn step<T: Number>(a: T, b: T) -> T {
        a.times(b)
    }

    fn grad(g: &mut Grad<'_>) -> Result<()> {
        emit_grad::<Prod>(g)
    }
}

impl ReductionGrad for Prod {
    const GRAD_TYPE: &'static str = "reduce_prod_grad";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * Out / X; not a number where X is 0, as in Fluid";
    const NEEDS_VALUES: bool = true;

    fn dx<T: Float>(x: T, out: T, d: T, _: usize) -> T {
        d * out / x
    }
}

#[test]
fn prod() {
    use crate::testing::{check, tensor};
    let reduce = || check("reduce_prod").input("X", tensor([2, 3], &[1.0, 2.0, 0.5, -1.0, 4.0, 3.0]));
    reduce().attr("dim", vec![0]).output("Out", tensor([3], &[-1.0, 8.0, 1.5])).grad(&["X"]).run();
    reduce()
        .attr("dim", vec![-1])
        .attr("keep_dim", true)
        .output("Out", tensor([2, 1], &[1.0, -12.0]))
        .grad(&["X"])
        .run();
    reduce().attr("reduce_all", true).output("Out", tensor([1], &[-12.0])).grad(&["X"]).run();
}
