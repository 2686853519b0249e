//! `deformable_conv_v1`: a convolution whose points are moved, position by position.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, sig};

use super::convolution;
use super::sampling::{Params, with_attrs};

pub(crate) const OPS: &[&dyn OpDef] = &[&DeformableConvV1, &GRAD];

struct DeformableConvV1;

impl OpDef for DeformableConvV1 {
    sig! {
        "deformable_conv_v1":
            "Output = the convolution of Input with Filter in which point k of the window at p is read at its place plus \
             Offset[n, k, p], linear between pixels and 0 outside";
        in "Input": "[n, channels, h, w], f32 or f64";
        in "Offset": "[n, 2 * deformable_groups * window, out h, out w]: down and across, for each point in turn";
        in "Filter": "[filters, channels / groups, window h, window w]";
        out "Output": "[n, filters, out h, out w]";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Params::new(&cx.attrs())?.infer(cx, false)?;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        convolution::forward(p)
    }
}

const GRAD: GradOp = GradOp::of(
    &DeformableConvV1,
    "deformable_conv_v1_grad(Input, Filter, Offset, Output@GRAD) -> Input@GRAD, Filter@GRAD, Offset@GRAD",
)
.doc("gradients of `deformable_conv_v1`")
.kernel(convolution::backward);

#[test]
fn offsets_of_half_a_pixel_average() {
    use crate::testing::{check, noise, tensor};
    check("deformable_conv_v1")
        .input("Input", tensor([1, 1, 1, 3], &[1.0, 2.0, 4.0]))
        .input("Offset", tensor([1, 2, 1, 3], &[0.0, 0.0, 0.0, 0.5, 0.5, 0.5]))
        .input("Filter", tensor([1, 1, 1, 1], &[2.0]))
        .output("Output", tensor([1, 1, 1, 3], &[3.0, 6.0, 4.0]))
        .run();
    // Away from pixels, where gradients jump.
    check("deformable_conv_v1")
        .input("Input", tensor([1, 1, 1, 3], &[1.0, 2.0, 4.0]))
        .input("Offset", tensor([1, 2, 1, 3], &[0.3, -0.4, 0.2, 0.5, 0.4, -0.3]))
        .input("Filter", tensor([1, 1, 1, 1], &[2.0]))
        .any_output("Output")
        .grad(&["Input", "Offset", "Filter"])
        .run();
    let e = check("deformable_conv_v1")
        .input("Input", noise([1, 1, 2, 3], 1))
        .input("Offset", noise([1, 3, 2, 3], 2))
        .input("Filter", noise([1, 1, 1, 1], 3))
        .any_output("Output")
        .error();
    assert!(e.contains("in `Offset` = Offset.0 f32[1, 3, 2, 3]"), "{e}");
}
