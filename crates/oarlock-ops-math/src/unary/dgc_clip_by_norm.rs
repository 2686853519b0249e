//! `dgc_clip_by_norm`: `clip_by_norm` once gradient compression has begun.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::pointwise;

use crate::unary::clip_by_norm::limit;

pub(crate) const OPS: &[&dyn OpDef] = &[&DgcClipByNorm];

struct DgcClipByNorm;

impl OpDef for DgcClipByNorm {
    sig! {
        "dgc_clip_by_norm":
            "`clip_by_norm` of X from step rampup_begin_step on; before it, or if that is negative, Out = X";
        in "X": "a gradient";
        in "current_step": "how many steps were done, one number";
        out "Out": "like `X`";
        attr "max_norm": "the largest norm";
        attr "rampup_begin_step" = -1.0f32, "the step from which gradients are compressed";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, step) = (p.input("X")?, p.output("Out")?, p.input("current_step")?);
        let max_norm = p.attrs().f32("max_norm")?;
        // Steps are counted in whole numbers.
        let rampup = p.attrs().f32("rampup_begin_step")? as i64;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let begun = rampup >= 0 && io.scalar(step)? as i64 >= rampup;
            let mut t = io.update(x, out)?;
            if begun {
                limit(io.data_mut::<T>(out, &mut t)?, T::from(max_norm));
            }
            Ok(())
        }))
    }
}

#[test]
fn dgc_clip_by_norm() {
    use crate::testing::{check, tensor};
    let clip = |step: f32, begin: f32| {
        let x = tensor([2], &[3.0, -4.0]);
        let check = check("dgc_clip_by_norm").input("X", x).input("current_step", tensor([1], &[step]));
        check.attr("max_norm", 1.0f32).attr("rampup_begin_step", begin)
    };
    clip(2.0, 2.0).output("Out", tensor([2], &[0.6, -0.8])).run();
    clip(1.0, 2.0).output("Out", tensor([2], &[3.0, -4.0])).run();
    clip(1.0, -1.0).output("Out", tensor([2], &[3.0, -4.0])).run();
}
