//! `l1_norm`: the sum of absolute values.

use oarlock_ir::{Dim, Grad, Infer, Kernel, OpDef, Prepare, Result, Sig, by_float, kernel};
use oarlock_tensor::Float;

use crate::elementwise;
use crate::losses;
use crate::op::sign::sign;

pub(crate) const OPS: &[&dyn OpDef] = &[&L1Norm, &L1NormGrad];

struct L1Norm;

impl OpDef for L1Norm {
    fn sig(&self) -> Sig {
        Sig::new("l1_norm", "Out = sum of |X|").input("X", "f32 or f64").output("Out", "[1]")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x.with_shape(vec![Dim::Is(1)]).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let sum: T = io.data::<T>(x, &*io.dense(x)?)?.iter().map(|v| v.abs()).sum();
            losses::number(io, out, sum)
        }))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("l1_norm_grad", &["Out@GRAD", "X"], &["X@GRAD"])
    }
}

struct L1NormGrad;

impl OpDef for L1NormGrad {
    fn sig(&self) -> Sig {
        Sig::new("l1_norm_grad", "X@GRAD = sign(X) * Out@GRAD")
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
            let d = T::of(io.scalar(d)?);
            elementwise::map(io, x, dx, |x: T| d * sign(x))
        }))
    }
}

#[test]
fn l1_norm() {
    use crate::testing::{check, tensor};
    check("l1_norm")
        .input("X", tensor([2, 2], &[1.0, -2.0, 0.5, 3.0]))
        .output("Out", tensor([1], &[6.5]))
        .grad(&["X"])
        .run();
}
