//! `depthwise_conv2d`: a convolution that keeps channels apart.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, Sig};

use crate::conv;

pub(crate) const OPS: &[&dyn OpDef] = &[&DepthwiseConv2d, &DepthwiseConv2dGrad];

struct DepthwiseConv2d;

impl OpDef for DepthwiseConv2d {
    fn sig(&self) -> Sig {
        conv::sig("depthwise_conv2d", "`conv2d` with as many groups as channels")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        conv::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        conv::forward_kernel(p)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        conv::grad(g, "depthwise_conv2d_grad")
    }
}

struct DepthwiseConv2dGrad;

impl OpDef for DepthwiseConv2dGrad {
    fn sig(&self) -> Sig {
        conv::grad_sig("depthwise_conv2d_grad", "gradients of `depthwise_conv2d`")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        conv::infer_grad(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        conv::backward_kernel(p)
    }
}

#[test]
fn channels_do_not_mix() {
    use crate::testing::{check, noise, tensor};
    check("depthwise_conv2d")
        .attr("groups", 2)
        .input("Input", tensor([1, 2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .input("Filter", tensor([2, 1, 1, 2], &[1.0, 1.0, 1.0, -1.0]))
        .output("Output", tensor([1, 2, 1, 2], &[3.0, 5.0, -1.0, -1.0]))
        .run();
    check("depthwise_conv2d")
        .attr("groups", 2)
        .attr("paddings", vec![1, 1])
        .input("Input", noise([1, 2, 3, 3], 1))
        .input("Filter", noise([4, 1, 3, 3], 2))
        .any_output("Output")
        .grad(&["Input", "Filter"])
        .grad_tolerance(1e-2, 1e-3)
        .run();
}
