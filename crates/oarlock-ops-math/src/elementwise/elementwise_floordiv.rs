//! `elementwise_floordiv`: the whole part of x / y, for integers, with broadcasting.

use crate::elementwise::binary::binary;

binary! {
    FloorDiv: "elementwise_floordiv",
        "Out = X / Y, truncated toward zero as Fluid does in spite of the name", DIVIDES, GRADIENT_FREE, INTEGERS_ONLY;
    out(x, y) = x.over(y);
}

#[test]
fn floordiv() {
    use crate::testing::{check, tensor, tensor_of};
    check("elementwise_floordiv")
        .input("X", tensor_of::<i32>([2, 2], &[7, -7, 8, 9]))
        .input("Y", tensor_of::<i32>([2], &[3, 5]))
        .output("Out", tensor_of::<i32>([2, 2], &[2, -1, 2, 1]))
        .run();
    let floats =
        check("elementwise_floordiv").input("X", tensor([1], &[1.0])).input("Y", tensor([1], &[1.0])).any_output("Out");
    assert_eq!(
        floats.error(),
        "error[dtype]: `elementwise_floordiv` works on i32 and i64, not on f32\n  \
         at (`elementwise_floordiv`, block 0, op 0)"
    );
}
