//! `selu`: self-normalising elu, element by element.

use crate::unary::formula::formula;

formula! {
    Selu: "selu", "selu_grad";
    attr scale = 1.050_701, "slope above 0";
    attr alpha = 1.673_263_2, "depth below 0";
    out(x) = if x > T::ZERO { scale * x } else { scale * alpha * (x.fast_exp() - T::ONE) },
        "Out = scale * X where X > 0, else scale * alpha * (exp(X) - 1)";
    grad Out(out, dout) = if out > T::ZERO { scale * dout } else { (out + scale * alpha) * dout },
        "X@GRAD = scale * Out@GRAD where Out > 0, else (Out + scale * alpha) * Out@GRAD";
}

#[test]
fn selu() {
    crate::unary::formula::check_values(
        "selu",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-1.5201665, -0.6917582, 0.26267526, 3.152103],
    );
}
