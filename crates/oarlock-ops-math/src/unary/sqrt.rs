//! `sqrt`: square root, element by element.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_tensor::Float;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Sqrt>::OP, &UnaryGrad::<Sqrt>::OP, &GradGrad::<Sqrt>::OP];

#[derive(Clone, Copy, Default)]
struct Sqrt;

impl Formula for Sqrt {
    const OP: &'static str = "sqrt";
    const GRAD_OP: &'static str = "sqrt_grad";
    const DOC: &'static str = "Out = sqrt(X)";
    const GRAD_DOC: &'static str = "X@GRAD = Out@GRAD / (2 * Out)";
    const GRAD_READS: Reads = Reads::Out;

    fn value<T: Math>(self, x: T) -> T {
        x.sqrt()
    }

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<Sqrt>(g)
    }

    fn grad<T: Math>(self, out: T, dout: T) -> T {
        dout * T::of(0.5) / out
    }
}

impl DoubleGradient for Sqrt {
    const TYPE: &'static str = "sqrt_grad_grad";
    const DOC: &'static str = "DDOut = DDX / (2 * Out); DOut = -DX * DDX / Out";
    const READS: &'static [&'static str] = &["Out", "DX"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DOut", Of::Out)];

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [p.ddx / (p.out + p.out), -p.dx * p.ddx / p.out, T::ZERO]
    }
}

#[test]
fn sqrt() {
    crate::unary::formula::check_values("sqrt", &[0.25, 1.5, 4.0], &[0.5, 1.2247449, 2.0]);
}
