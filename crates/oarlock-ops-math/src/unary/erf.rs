//! `erf`: the error function, element by element.

use crate::unary::error_function;
use crate::unary::formula::formula;

formula! {
    Erf: "erf", "erf_grad";
    out(x) = error_function::erf(x), "Out = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to X";
    grad X(x, dout) = dout * T::of(std::f64::consts::FRAC_2_SQRT_PI) * (-x * x).fast_exp(),
        "X@GRAD = Out@GRAD * 2 / sqrt(pi) * exp(-X^2)";
}

#[test]
fn erf() {
    crate::unary::formula::check_values(
        "erf",
        &[-2.0, -0.5, 0.25, 3.0],
        &[-0.9953223, -0.5204999, 0.2763264, 0.9999779],
    );
}
