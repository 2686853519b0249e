//! `deformable_conv_v1`: a convolution whose points are moved, position by position.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, Sig};

use super::convolution;
use super::sampling::{Params, with_attrs};

pub(crate) const OPS: &[&dyn OpDef] = &[&DeformableConvV1, &DeformableConvV1Grad];

struct DeformableConvV1;

impl OpDef for DeformableConvV1 {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "deformable_conv_v1",
            "Output = the convolution of Input with Filter in which point k of the window at p is read at its place plus \
             Offset[n, k, p], linear between pixels and 0 outside",
        )
        .input("Input", "[n, channels, h, w], f32 or f64")
        .input("Offset", "[n, 2 * deformable_groups * window, out h, out w]: down and across, for each point in turn")
        .input("Filter", "[filters, channels / groups, window h, window w]")
        .output("Output", "[n, filters, out h, out w]");
        with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Params::new(&cx.attrs())?.infer(cx, false)?;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        convolution::forward(p)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&DeformableConvV1Grad)
    }
}

struct DeformableConvV1Grad;

impl OpDef for DeformableConvV1Grad {
    fn sig(&self) -> Sig {
        Sig::new("deformable_conv_v1_grad", "gradients of `deformable_conv_v1`").grad_of(
            &DeformableConvV1.sig(),
            &["Input", "Filter", "Offset", "Output@GRAD"],
            &["Input@GRAD", "Filter@GRAD", "Offset@GRAD"],
        )
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        convolution::backward(p)
    }
}

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
