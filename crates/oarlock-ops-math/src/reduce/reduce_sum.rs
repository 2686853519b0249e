//! `reduce_sum`: the sum along some axes.

use crate::reduce::reduction::reduction;

reduction! {
    Sum: "reduce_sum", "Out = sum of X along `dim`";
    start = T::ZERO;
    step(a, b) = a.plus(b);
    grad "reduce_sum_grad", "X@GRAD = Out@GRAD of the sum that the element went into", LINEAR;
    dx(_, _, d, _) = d;
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::DType;

    use crate::testing::{check, noise, tensor, tensor_of, with_lod};

    #[test]
    fn sum() {
        let reduce = || check("reduce_sum").input("X", tensor([2, 3], &[1.0, 2.0, 0.5, -1.0, 4.0, 3.0]));
        reduce().attr("dim", vec![0]).output("Out", tensor([3], &[0.0, 6.0, 3.5])).grad(&["X"]).run();
        reduce()
            .attr("dim", vec![-1])
            .attr("keep_dim", true)
            .output("Out", tensor([2, 1], &[3.5, 6.0]))
            .grad(&["X"])
            .run();
        reduce().attr("reduce_all", true).output("Out", tensor([1], &[9.5])).grad(&["X"]).run();
        let all_kept = reduce().attr("reduce_all", true).attr("keep_dim", true);
        all_kept.output("Out", tensor([1, 1], &[9.5])).grad(&["X"]).run();
    }

    #[test]
    fn axes_that_are_not_neighbours() {
        let x = noise([2, 3, 2, 2], 5);
        check("reduce_sum").input("X", x).attr("dim", vec![0, 2]).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn sequences_stay_where_rows_do() {
        let x = with_lod(tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 1, 3]]);
        let out = with_lod(tensor([3], &[3.0, 7.0, 11.0]), &[&[0, 1, 3]]);
        check("reduce_sum").input("X", x).attr("dim", vec![1]).output("Out", out).run();
    }

    #[test]
    fn another_dtype() {
        check("reduce_sum")
            .input("X", tensor_of::<i32>([2, 2], &[1, 2, 3, i32::MAX]))
            .attr("dim", vec![0])
            .attr("out_dtype", DType::I64.proto())
            .output("Out", tensor_of::<i64>([2], &[4, 2_147_483_649]))
            .run();
    }

    #[test]
    fn an_axis_that_is_not_there() {
        let wrong = check("reduce_sum").input("X", tensor([2, 3], &[0.0; 6])).attr("dim", vec![2]).any_output("Out");
        assert_eq!(
            wrong.error(),
            "error[shape]: `reduce_sum` has no axis 2 to reduce in `X` = X.0 f32[2, 3]\n  \
             at (`reduce_sum`, block 0, op 0)\n  \
             help: give axes from -2 to 1"
        );
    }
}
