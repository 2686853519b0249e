//! `squared_l2_norm`: the sum of squares.

use oarlock_ir::{Dim, Grad, Infer, Kernel, OpDef, Prepare, Result, Sig, by_float, kernel};
use oarlock_tensor::{Float, simd};

use crate::elementwise;
use crate::losses;

pub(crate) const OPS: &[&dyn OpDef] = &[&SquaredL2Norm, &SquaredL2NormGrad];

struct SquaredL2Norm;

impl OpDef for SquaredL2Norm {
    fn sig(&self) -> Sig {
        Sig::new("squared_l2_norm", "Out = sum of X^2").input("X", "f32 or f64").output("Out", "[1]")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x.with_shape(vec![Dim::Is(1)]).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let sum = simd::sum_of_squares(io.data::<T>(x, &*io.dense(x)?)?);
            losses::number(io, out, sum)
        }))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("squared_l2_norm_grad", &["Out@GRAD", "X"], &["X@GRAD"])
    }
}

struct SquaredL2NormGrad;

impl OpDef for SquaredL2NormGrad {
    fn sig(&self) -> Sig {
        Sig::new("squared_l2_norm_grad", "X@GRAD = 2 * X * Out@GRAD")
            .input("X", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .output("X@GRAD", "gradient of `X`")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        elementwise::infer_grad_like(cx, "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, d, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let factor = T::of(2.0 * io.scalar(d)?);
            elementwise::map(io, x, dx, |x: T| factor * x)
        }))
    }
}

#[test]
fn squared_l2_norm() {
    use crate::testing::{check, tensor};
    check("squared_l2_norm")
        .input("X", tensor([2, 2], &[1.0, -2.0, 0.5, 3.0]))
        .output("Out", tensor([1], &[14.25]))
        .grad(&["X"])
        .run();
}
