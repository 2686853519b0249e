//! `transpose2`: axes in another order; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, Sig, Traits, kernel};

use super::transpose::{infer, inverse, parse_order, prepare, with_attrs};
use crate::shape::reshaping::{carry_sizes, infer_from_xshape, xshape_type};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transpose2, &Transpose2Grad];

struct Transpose2;

impl OpDef for Transpose2 {
    fn sig(&self) -> Sig {
        let sig = Sig::new("transpose2", "Out = X with its axes in another order")
            .input("X", "any tensor")
            .output("Out", "the elements of `X`")
            .optional_output("XShape", "no elements; carries the sizes of `X` to the gradient");
        with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (out, x) = (infer(cx)?, cx.input("X")?);
        cx.set("Out", out);
        cx.set("XShape", xshape_type(&x));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, xshape) = (p.input("X")?, p.maybe_output("XShape")?);
        let mut permute = prepare(x, p.output("Out")?, parse_order(p.attrs())?)?;
        kernel(move |io| {
            if let Some(xshape) = xshape {
                let (dims, lod) = {
                    let tensor = io.dense(x)?;
                    (*tensor.dims(), tensor.lod().clone())
                };
                carry_sizes(io, x, &dims, lod, xshape)?;
            }
            permute.run(io)
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&Transpose2Grad)
    }
}

struct Transpose2Grad;

impl OpDef for Transpose2Grad {
    fn sig(&self) -> Sig {
        Sig::new("transpose2_grad", "X@GRAD = Out@GRAD with its axes put back").grad_of(
            &Transpose2.sig(),
            &["XShape", "Out@GRAD"],
            &["X@GRAD"],
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer_from_xshape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare(p.input("Out@GRAD")?, p.output("X@GRAD")?, inverse(&parse_order(p.attrs())?))
    }

    fn traits(&self) -> Traits {
        Traits::NONE.shape_only(&["XShape"])
    }
}

#[test]
fn transpose2() {
    use crate::testing::{check, tensor};
    check("transpose2")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("axis", vec![1, 0])
        .output("Out", tensor([3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))
        .output("XShape", tensor([0, 2, 3], &[]))
        .grad(&["X"])
        .run();
}
