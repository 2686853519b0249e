//! `gelu`: x times the normal distribution function at x, element by element.

use oarlock_ir::{AttrView, OpDef, Result, Sig};
use oarlock_tensor::simd::Math;

use crate::unary::error_function::erf;
use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Gelu>::OP, &UnaryGrad::<Gelu>::OP];

#[derive(Clone, Copy, Default)]
struct Gelu {
    approximate: bool,
}

/// sqrt(2 / pi)
const SCALE: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

/// The weight of the cube in the approximation.
const CUBE: f64 = 0.044715;

impl Formula for Gelu {
    const OP: &'static str = "gelu";
    const GRAD_OP: &'static str = "gelu_grad";
    const DOC: &'static str =
        "Out = X * (1 + erf(X / sqrt(2))) / 2; approximate: X * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 X^3))) / 2";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD * derivative of gelu at X";
    const GRAD_READS: Reads = Reads::X;

    fn attrs(sig: Sig) -> Sig {
        sig.attr("approximate", false, "use the formula with tanh")
    }

    fn read(attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Gelu { approximate: attrs.bool("approximate")? })
    }

    fn value<T: Math>(self, x: T) -> T {
        let wave = if self.approximate {
            (T::of(SCALE) * (x + T::of(CUBE) * x * x * x)).fast_tanh()
        } else {
            erf(x * T::of(std::f64::consts::FRAC_1_SQRT_2))
        };
        T::of(0.5) * x * (T::ONE + wave)
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        let half = T::of(0.5);
        let (wave, slope) = if self.approximate {
            let t = (T::of(SCALE) * (x + T::of(CUBE) * x * x * x)).fast_tanh();
            (t, (T::ONE - t * t) * T::of(SCALE) * (T::ONE + T::of(3.0 * CUBE) * x * x))
        } else {
            (erf(x * T::of(std::f64::consts::FRAC_1_SQRT_2)), T::of(SCALE) * (-half * x * x).fast_exp())
        };
        dout * half * (T::ONE + wave + x * slope)
    }
}

#[test]
fn gelu() {
    use crate::testing::{check, tensor};
    check("gelu")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .output("Out", tensor([4], &[-0.04550026, -0.15426877, 0.14967659, 2.9959502]))
        .grad(&["X"])
        .run();
    check("gelu")
        .attr("approximate", true)
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .output("Out", tensor([4], &[-0.045402348, -0.154286, 0.149675, 2.9963627]))
        .grad(&["X"])
        .run();
}
