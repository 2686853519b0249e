//! Convolutions of images and volumes: what `conv2d`, `depthwise_conv2d`, `conv3d` and their transposes share.
//!
//! A convolution leads images to results; its transpose leads results to images, exactly as the gradient of a convolution
//! does. So both families ([`super::direct`] and [`super::transposed`]) consist of the three products of [`super::product`]: results, gradients
//! of images, gradients of filters. These are computed in one of two ways: by [`super::shifts`] or by [`super::columns`].

use oarlock_ir::{AttrView, Infer, Kind, Result, Sig, fail};
use oarlock_ops_support::sliding_window::{Axes, Format, Padding};

/// One of the operators.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// Its gradient operator's type.
    pub(crate) grad_type: &'static str,
    /// The type of the gradient of that, where there is one.
    pub(crate) grad_grad_type: Option<&'static str>,
    /// Images or volumes.
    pub(crate) axes: Axes,
    /// Slots that only programs rewritten for another library use.
    pub(crate) foreign_inputs: &'static [&'static str],
    /// The slots of the gradient operator.
    pub(crate) grad_reads: &'static [&'static str],
    pub(crate) grad_writes: &'static [&'static str],
}

/// Attributes of library-specific fusions; only their neutral values mean the same here.
const FUSIONS: [&str; 5] =
    ["fuse_relu", "fuse_brelu", "fuse_residual_connection", "fuse_relu_before_depthwise_conv", "force_fp32_output"];

/// Attributes that change no result.
const HINTS: [&str; 9] = [
    "workspace_size_MB",
    "exhaustive_search",
    "Scale_in",
    "Scale_out",
    "Scale_in_eltwise",
    "Scale_weights",
    "fuse_alpha",
    "fuse_beta",
    "fuse_brelu_threshold",
];

const FOREIGN: &str = "only in programs rewritten for another library; not supported";

impl Variant {
    pub(crate) fn with_attrs(&self, sig: Sig) -> Sig {
        let (axes, doc) = (self.axes.count(), "zeros around: one size for each axis, or before and after each axis");
        let format = if self.op_type == "conv3d" { "NCDHW" } else { "NCHW" };
        let sig = sig
            .attr("strides", vec![1; axes], "steps of the window along each axis")
            .attr("paddings", vec![0; axes], doc)
            .attr(
                "padding_algorithm",
                "EXPLICIT",
                "EXPLICIT uses `paddings`; SAME keeps the size (over the stride); VALID pads nothing",
            )
            .attr("dilations", vec![1; axes], "distance of the window's elements; 1 with SAME")
            .attr("groups", 1, "the number of groups of channels; groups do not mix")
            .attr("data_format", format, "channels second (NCHW, NCDHW) or last (NHWC, NDHWC); the filter is the same")
            .attr("fuse_activation", "", FOREIGN)
            .hints(&HINTS);
        FUSIONS.iter().fold(sig, |sig, name| sig.attr(name, false, FOREIGN))
    }

    pub(crate) fn with_foreign_inputs(&self, sig: Sig) -> Sig {
        self.foreign_inputs.iter().fold(sig, |sig, name| sig.optional_input(name, FOREIGN))
    }

    pub(crate) fn grad_sig(&self, doc: &'static str) -> Sig {
        let sig = Sig::new(self.grad_type, doc)
            .input("Input", "of the forward operator")
            .input("Filter", "of the forward operator")
            .input("Output@GRAD", "gradient of `Output`")
            .optional_output("Input@GRAD", "gradient of `Input`")
            .optional_output("Filter@GRAD", "gradient of `Filter`")
            .optional_output("Bias@GRAD", "never made");
        self.with_foreign_inputs(sig)
    }

    pub(crate) fn reject_foreign_inputs(&self, cx: &Infer<'_>) -> Result<()> {
        match self.foreign_inputs.iter().find(|slot| cx.has(slot)) {
            Some(slot) => fail!(
                Kind::Argument,
                "`{}` with `{slot}` was made for another library; add it by an operator of its own",
                self.op_type
            ),
            None => Ok(()),
        }
    }
}

/// The attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Params {
    pub(crate) axes: Axes,
    pub(crate) strides: [usize; 3],
    pub(crate) dilations: [usize; 3],
    pub(crate) padding: Padding,
    pub(crate) groups: usize,
    pub(crate) format: Format,
}

impl Params {
    pub(crate) fn new(variant: &Variant, attrs: &AttrView<'_>) -> Result<Params> {
        let fused = FUSIONS.iter().any(|name| attrs.flag(name)) || !attrs.str("fuse_activation")?.is_empty();
        if fused {
            fail!(
                Kind::Argument,
                "the convolution was fused with other operators for another library; save the program without that"
            );
        }
        let axes = variant.axes;
        let padding = Padding::new(attrs, axes)?;
        let groups = attrs.count("groups")?;
        if groups == 0 {
            fail!(Kind::Argument, "attribute `groups` must be above 0");
        }
        let dilations = if padding == Padding::Same { [1; 3] } else { axes.positive(attrs, "dilations")? };
        let format = Format::new(attrs, "data_format")?;
        Ok(Params { axes, strides: axes.positive(attrs, "strides")?, dilations, padding, groups, format })
    }
}

/// One axis of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) n: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) out: usize,
}

impl Side {
    pub(crate) fn padded(&self) -> usize {
        self.n + self.before + self.after
    }

    /// How far the last element of a window is from its first.
    pub(crate) fn reach(&self) -> usize {
        self.dilation * (self.kernel - 1)
    }

    /// The input position of output position `out` and window position `k`, if it is not padding.
    pub(crate) fn inside(&self, out: usize, k: usize) -> Option<usize> {
        (out * self.stride + k * self.dilation).checked_sub(self.before).filter(|&i| i < self.n)
    }

    /// The same axis of the convolution that leads gradients back, if padding does not exceed the window.
    pub(crate) fn backward(&self) -> Option<Side> {
        let before = self.reach().checked_sub(self.before)?;
        let after = (self.n + self.reach()).checked_sub(self.out + before)?;
        Some(Side { n: self.out, out: self.n, before, after, ..*self })
    }
}

/// Sizes of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conv {
    pub(crate) images: usize,
    pub(crate) groups: usize,
    /// Channels of a group.
    pub(crate) channels: usize,
    /// Output channels of a group.
    pub(crate) filters: usize,
    /// Depth, height and width.
    pub(crate) sides: [Side; 3],
}

impl Conv {
    /// Pixels of an input channel.
    pub(crate) fn image_pixels(&self) -> usize {
        self.sides.iter().map(|s| s.n).product()
    }

    /// Pixels of an output channel.
    pub(crate) fn pixels(&self) -> usize {
        self.sides.iter().map(|s| s.out).product()
    }

    pub(crate) fn image_len(&self) -> usize {
        self.groups * self.channels * self.image_pixels()
    }

    pub(crate) fn out_len(&self) -> usize {
        self.groups * self.filters * self.pixels()
    }

    /// Elements of a filter for one channel.
    pub(crate) fn window(&self) -> usize {
        self.sides.iter().map(|s| s.kernel).product()
    }

    /// Elements of one filter.
    pub(crate) fn terms(&self) -> usize {
        self.channels * self.window()
    }

    /// Windows are single pixels, so the image is already the matrix of columns.
    pub(crate) fn pointwise(&self) -> bool {
        self.sides.iter().all(|s| s.kernel == 1 && s.stride == 1 && s.before + s.after == 0)
    }
}

/// Starts a check of the gradients of a convolution of random numbers.
#[cfg(test)]
pub(crate) fn check_gradients<const N: usize>(
    op_type: &str,
    input: [usize; N],
    filter: [usize; N],
) -> crate::testing::Check {
    use crate::testing::{check, noise};
    check(op_type)
        .input("Input", noise(input, 1))
        .input("Filter", noise(filter, 2))
        .any_output("Output")
        .grad(&["Input", "Filter"])
        .grad_tolerance(1e-2, 1e-3)
}
