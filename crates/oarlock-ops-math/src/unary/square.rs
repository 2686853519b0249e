//! `square`: x * x, element by element.

use oarlock_ir::{Grad, OpDef, Result};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_tensor::Float;
use oarlock_tensor::simd::Math;

use crate::unary::formula::{Formula, Reads, Unary, UnaryGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unary::<Square>::OP, &UnaryGrad::<Square>::OP, &GradGrad::<Square>::OP];

#[derive(Clone, Copy, Default)]
struct Square;

impl Formula for Square {
    const OP: &'static str = "square";
    const GRAD_OP: &'static str = "square_grad";
    const DOC: &'static str = "Out = X * X";
    const GRAD_DOC: &'static str = "X@GRAD = 2 * X * Out@GRAD";
    const GRAD_READS: Reads = Reads::X;
    const INTEGER: Option<fn(i64) -> i64> = Some(|x| x.wrapping_mul(x));

    fn value<T: Math>(self, x: T) -> T {
        x * x
    }

    fn second(g: &mut Grad<'_>) -> Result<()> {
        double_gradient::emit::<Square>(g)
    }

    fn grad<T: Math>(self, x: T, dout: T) -> T {
        dout * T::of(2.0) * x
    }
}

impl DoubleGradient for Square {
    const TYPE: &'static str = "square_grad_grad";
    const DOC: &'static str = "DDOut = 2 * X * DDX; DX = 2 * DOut * DDX";
    const READS: &'static [&'static str] = &["X", "DOut"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out), ("DX", Of::X)];

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        let twice = p.ddx + p.ddx;
        [p.x * twice, p.dout * twice, T::ZERO]
    }
}

#[test]
fn square() {
    crate::unary::formula::check_values("square", &[-1.5, 0.5, 2.0], &[2.25, 0.25, 4.0]);
}
