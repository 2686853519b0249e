//! `reduce_prod`: the product along some axes.

use crate::reduce::reduction::reduction;

reduction! {
    Prod: "reduce_prod", "Out = product of X along `dim`";
    start = T::ONE;
    step(a, b) = a.times(b);
    grad "reduce_prod_grad", "X@GRAD = Out@GRAD * Out / X; not a number where X is 0, as in Fluid", NEEDS_VALUES;
    dx(x, out, d, _) = d * out / x;
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
