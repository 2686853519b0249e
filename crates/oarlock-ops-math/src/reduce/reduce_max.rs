//! `reduce_max`: the maximum along some axes.

use crate::reduce::reduction::reduction;

reduction! {
    Max: "reduce_max", "Out = maximum of X along `dim`";
    start = T::LOWEST;
    step(a, b) = if a < b { b } else { a };
    grad "reduce_max_grad", "X@GRAD = Out@GRAD where X is the maximum, also if several are, else 0", NEEDS_VALUES;
    dx(x, out, d, _) = if x == out { d } else { T::ZERO };
}

#[test]
fn max() {
    use crate::testing::{check, tensor};
    let reduce = || check("reduce_max").input("X", tensor([2, 3], &[1.0, 2.0, 0.5, -1.0, 4.0, 3.0]));
    reduce().attr("dim", vec![0]).output("Out", tensor([3], &[1.0, 4.0, 3.0])).grad(&["X"]).run();
    reduce().attr("dim", vec![-1]).attr("keep_dim", true).output("Out", tensor([2, 1], &[2.0, 4.0])).grad(&["X"]).run();
    reduce().attr("reduce_all", true).output("Out", tensor([1], &[4.0])).grad(&["X"]).run();
}
