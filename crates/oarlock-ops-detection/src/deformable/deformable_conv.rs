//! `deformable_conv`: a convolution whose points are moved and weighted, position by position.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, sig};

use super::convolution;
use super::sampling::{Params, with_attrs};

pub(crate) const OPS: &[&dyn OpDef] = &[&DeformableConv, &GRAD];

struct DeformableConv;

impl OpDef for DeformableConv {
    sig! {
        "deformable_conv":
            "Output = the convolution of Input with Filter in which point k of the window at p is read at its place plus \
             Offset[n, k, p], linear between pixels and 0 outside, and multiplied by Mask[n, k, p]";
        in "Input": "[n, channels, h, w], f32 or f64";
        in "Offset": "[n, 2 * deformable_groups * window, out h, out w]: down and across, for each point in turn";
        in "Mask": "[n, deformable_groups * window, out h, out w]: factors";
        in "Filter": "[filters, channels / groups, window h, window w]";
        out "Output": "[n, filters, out h, out w]";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Params::new(&cx.attrs())?.infer(cx, true)?;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        convolution::forward(p)
    }
}

const GRAD: GradOp = GradOp::of(
    &DeformableConv,
    "deformable_conv_grad(Input, Filter, Offset, Mask, Output@GRAD) -> Input@GRAD, Filter@GRAD, Offset@GRAD, Mask@GRAD",
)
.doc("gradients of `deformable_conv`")
.kernel(convolution::backward);

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{Check, check, noise, tensor};

    /// Offsets that bring no point near a pixel, where gradients jump.
    fn offsets(dims: [usize; 4]) -> Tensor {
        let count = dims.iter().product::<usize>();
        let values: Vec<f32> = (0..count).map(|i| ((i * 7 % 5) as f32 - 2.0) * 0.5 + 0.3).collect();
        tensor(dims, &values)
    }

    fn case() -> Check {
        check("deformable_conv")
            .input("Input", noise([2, 2, 3, 4], 1))
            .input("Offset", offsets([2, 8, 2, 3]))
            .input("Mask", noise([2, 4, 2, 3], 3))
            .input("Filter", noise([2, 2, 2, 2], 4))
    }

    #[test]
    fn whole_offsets_move_the_window() {
        check("deformable_conv")
            .input("Input", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("Offset", tensor([1, 2, 2, 2], &[0.0, 1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0]))
            .input("Mask", tensor([1, 1, 2, 2], &[1.0, 0.5, 1.0, 1.0]))
            .input("Filter", tensor([1, 1, 1, 1], &[10.0]))
            .output("Output", tensor([1, 1, 2, 2], &[10.0, 20.0, 40.0, 20.0]))
            .run();
    }

    #[test]
    fn gradients_are_those_of_the_convolution() {
        let wide = case().any_output("Output").grad(&["Input", "Offset", "Mask", "Filter"]);
        wide.grad_tolerance(1e-2, 1e-3).run();
        let grouped = case()
            .input("Offset", offsets([2, 16, 2, 2]))
            .input("Mask", noise([2, 8, 2, 2], 3))
            .input("Filter", noise([2, 1, 2, 2], 4))
            .attr("groups", 2)
            .attr("deformable_groups", 2)
            .attr("strides", vec![1, 2]);
        grouped.any_output("Output").grad(&["Input", "Offset", "Mask", "Filter"]).grad_tolerance(1e-2, 1e-3).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("Offset", noise([2, 8, 3, 3], 1)).any_output("Output").error();
        assert!(
            e.contains("needs [n, 2 * deformable_groups * window, as many rows and columns as `Output`] in `Offset`"),
            "{e}"
        );
        let e = case().attr("groups", 3).any_output("Output").error();
        assert!(e.contains("into 3 groups and 1 deformable groups"), "{e}");
        let e = case().attr("dilations", vec![9, 9]).any_output("Output").error();
        assert!(e.contains("has windows larger than the image `Input`"), "{e}");
        let e = case().attr("im2col_step", 0).any_output("Output").error();
        assert!(e.contains("attribute `im2col_step` is 0; it must be above 0"), "{e}");
    }
}
