//! `reduce_mean`: the mean along some axes.

use crate::reduce::reduction::reduction;

reduction! {
    Mean: "reduce_mean", "Out = mean of X along `dim`";
    start = T::ZERO;
    step(a, b) = a.plus(b);
    finish(folded, count) = folded.over(T::from_i64(count as i64));
    grad "reduce_mean_grad",
        "X@GRAD = Out@GRAD of the mean that the element went into, divided by the number of its elements", LINEAR;
    dx(_, _, d, count) = d / T::of(count as f64);
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
