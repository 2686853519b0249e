//! `softsign`: x / (1 + |x|), element by element.

use crate::unary::formula::formula;

formula! {
    Softsign: "softsign", "softsign_grad";
    out(x) = x / (T::ONE + x.abs()), "Out = X / (1 + |X|)";
    grad X(x, dout) = {
        let d = T::ONE + x.abs();
        dout / (d * d)
    }, "X@GRAD = Out@GRAD / (1 + |X|)^2";
}

#[test]
fn softsign() {
    crate::unary::formula::check_values("softsign", &[-2.0, -0.5, 0.25, 3.0], &[-0.6666667, -0.33333334, 0.2, 0.75]);
}
