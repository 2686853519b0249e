//! `elementwise_mod`: the rest of x / y, with broadcasting.

use crate::elementwise::binary::binary;

binary! {
    Mod: "elementwise_mod", "Out = X mod Y; integers take the sign of X, floats that of Y", DIVIDES, GRADIENT_FREE;
    out(x, y) = x.modulo(y);
}

#[test]
fn modulo() {
    use crate::testing::{check, tensor, tensor_of};
    check("elementwise_mod")
        .input("X", tensor_of::<i64>([2, 2], &[7, -7, 8, 9]))
        .input("Y", tensor_of::<i64>([2], &[3, 5]))
        .output("Out", tensor_of::<i64>([2, 2], &[1, -2, 2, 4]))
        .run();
    check("elementwise_mod")
        .input("X", tensor([2], &[-5.5, 5.5]))
        .input("Y", tensor([2], &[2.0, -2.0]))
        .output("Out", tensor([2], &[0.5, -0.5]))
        .run();
}
