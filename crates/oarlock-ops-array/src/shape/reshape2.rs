//! `reshape2`: the same elements under other sizes; the sizes of `X` travel to the gradient by themselves.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use super::reshape::Reshape;
use crate::shape::reshaping::{Second, SecondGrad, prepare_like};

pub(crate) const OPS: &[&dyn OpDef] = &[&Second::<Reshape>::OP, &SecondGrad::<Reshape>::OP, &ReshapeGradGrad];

struct ReshapeGradGrad;

impl OpDef for ReshapeGradGrad {
    fn sig(&self) -> Sig {
        Sig::new("reshape2_grad_grad", "DDOut = DDX with the sizes of DOut")
            .input("DOut", "gradient of `Out`")
            .input("DDX", "gradient of the gradient of `X`")
            .output("DDOut", "gradient of `DOut`")
            .attrs_of(&Second::<Reshape>::OP.sig())
            .traits(Traits::NONE.in_place(&[("DDX", "DDOut")]).shape_only(&["DOut"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("DDOut", "DOut")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare_like(p, "DOut", ("DDX", "DDOut"))
    }
}

#[test]
fn reshape2() {
    use crate::testing::{check, tensor};
    check("reshape2")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .attr("shape", vec![-1])
        .output("Out", tensor([6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .output("XShape", tensor([0, 2, 3], &[]))
        .grad(&["X"])
        .run();
}
