//! `transpose2`: axes in another order; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};

use super::transpose::{infer, inverse, parse_order, prepare, with_attrs};
use crate::shape::reshaping::{carry_sizes, infer_from_xshape, xshape_type};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transpose2, &GRAD];

struct Transpose2;

impl OpDef for Transpose2 {
    sig! {
        "transpose2": "Out = X with its axes in another order";
        in "X": "any tensor";
        out "Out": "the elements of `X`";
        out? "XShape": "no elements; carries the sizes of `X` to the gradient";
        with with_attrs;
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
}

const GRAD: GradOp = GradOp::of(&Transpose2, "transpose2_grad(XShape, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD with its axes put back")
    .traits(Traits::NONE.shape_only(&["XShape"]))
    .infer(infer_from_xshape)
    .kernel(|p| prepare(p.input("Out@GRAD")?, p.output("X@GRAD")?, inverse(&parse_order(p.attrs())?)));

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
