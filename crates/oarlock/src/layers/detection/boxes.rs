//! Boxes: how they overlap, how they differ from prior boxes, and where they end.

use oarlock_ir::{Op, Result};

use super::FLOATS;
use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, VarRef};

/// Numbers by which differences from prior boxes are divided, or multiplied on the way back.
#[derive(Debug, Clone)]
pub enum BoxVariance {
    /// Four for each prior box, `[boxes, 4]`.
    Var(VarRef),
    /// Four for all boxes.
    Numbers(Vec<f32>),
}

impl From<&VarRef> for BoxVariance {
    fn from(v: &VarRef) -> BoxVariance {
        BoxVariance::Var(v.clone())
    }
}

impl From<[f32; 4]> for BoxVariance {
    fn from(v: [f32; 4]) -> BoxVariance {
        BoxVariance::Numbers(v.to_vec())
    }
}

impl BoxVariance {
    /// A Variable or a list of numbers.
    pub(super) fn read(a: &Args, name: &str) -> Result<BoxVariance> {
        match a.is_var(name) {
            true => a.var(name).map(BoxVariance::Var),
            false => a.f32_list(name).map(BoxVariance::Numbers),
        }
    }
}

options! {
    /// `box_coder(prior_box, prior_box_var, target_box, code_type='encode_center_size', box_normalized=True, axis=0)`
    BoxCoder::code(
        /// `encode_center_size` or `decode_center_size`.
        code_type(into): String,
    ) {
        /// False for boxes of pixels, which include their right and bottom pixels.
        box_normalized: bool = true,
        /// Decoding: the axis of the target along which prior boxes repeat, 0 or 1.
        axis: i32 = 0,
    }
}

impl BoxCoder {
    /// From boxes to differences.
    pub fn encode() -> BoxCoder {
        BoxCoder::code("encode_center_size")
    }

    /// From differences to boxes.
    pub fn decode() -> BoxCoder {
        BoxCoder::code("decode_center_size")
    }
}

impl Net {
    /// `iou_similarity(x, y, box_normalized=True)`: the common area of boxes over the area that either covers, for all pairs.
    #[track_caller]
    pub fn iou_similarity(&mut self, x: &VarRef, y: &VarRef, box_normalized: bool) -> Result<VarRef> {
        self.unary(x, Op::new("iou_similarity").input("Y", [y]).attr("box_normalized", box_normalized))
    }

    /// Boxes as differences from prior boxes, or boxes from differences.
    #[track_caller]
    pub fn box_coder(
        &mut self,
        prior_box: &VarRef,
        variance: impl Into<BoxVariance>,
        target_box: &VarRef,
        options: BoxCoder,
    ) -> Result<VarRef> {
        let op = Op::new("box_coder").input("PriorBox", [prior_box]).input("TargetBox", [target_box]);
        let op = match variance.into() {
            BoxVariance::Var(var) => op.input("PriorBoxVar", [&var]),
            BoxVariance::Numbers(list) => op.attr("variance", list),
        };
        let op = op.attr("code_type", options.code_type.as_str());
        let op = op.attr("box_normalized", options.box_normalized).attr("axis", options.axis);
        let dtype = self.dtype(prior_box)?;
        self.layer("box_coder").out_slot("OutputBox", dtype, op)
    }

    /// `box_clip(input, im_info)`: boxes cut off at the borders of their image.
    #[track_caller]
    pub fn box_clip(&mut self, input: &VarRef, im_info: &VarRef) -> Result<VarRef> {
        let op = Op::new("box_clip").input("Input", [input]).input("ImInfo", [im_info]);
        let dtype = self.dtype(input)?;
        self.layer("box_clip").out_slot("Output", dtype, op)
    }

    /// `box_decoder_and_assign(prior_box, prior_box_var, target_box, box_score, box_clip)`: the boxes of every class, and that
    /// of the most likely one.
    #[track_caller]
    pub fn box_decoder_and_assign(
        &mut self,
        prior_box: &VarRef,
        prior_box_var: &VarRef,
        target_box: &VarRef,
        box_score: &VarRef,
        box_clip: f32,
    ) -> Result<(VarRef, VarRef)> {
        let op = Op::new("box_decoder_and_assign")
            .input("PriorBox", [prior_box])
            .input("PriorBoxVar", [prior_box_var])
            .input("TargetBox", [target_box])
            .input("BoxScore", [box_score])
            .attr("box_clip", box_clip);
        let dtype = self.dtype(prior_box)?;
        let [decoded, assigned] = self.detection_op(op, [("DecodeBox", dtype), ("OutputAssignBox", dtype)], true)?;
        Ok((decoded, assigned))
    }

    /// `polygon_box_transform(input)`: corners of polygons from their distances.
    #[track_caller]
    pub fn polygon_box_transform(&mut self, input: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("polygon_box_transform").input("Input", [input]);
        self.layer("polygon_box_transform").out_slot("Output", dtype, op)
    }
}

declare! {
    /// Computes how much boxes overlap: the common area of each pair over the area that either covers.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[n, 4]``: left, top, right and bottom; its LoD becomes that of the result.
    ///     y (Variable): the same element type, ``[m, 4]``.
    ///     box_normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their
    ///         right and bottom pixels.
    ///
    /// Returns:
    ///     Variable: ``[n, m]``, with the element type of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 0, 2, 2], [4, 4, 6, 6]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[0, 0, 2, 1]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.iou_similarity(x, y)])[0].tolist()
    ///     [[0.5], [0.0]]
    "detection.iou_similarity(x, y, box_normalized=True, name=None)"
        => |net, a| net.iou_similarity(&a.var("x")?, &a.var("y")?, a.bool("box_normalized")?);

    /// Encodes boxes as their differences from prior boxes, or decodes such differences to boxes.
    ///
    /// A difference is the distance of the centres over the sides of the prior box, and the logarithms of the ratios of the
    /// sides; encoding divides all of them by the variances, decoding multiplies. No gradient flows through it.
    ///
    /// Args:
    ///     prior_box (Variable): float32 or float64, ``[m, 4]``: left, top, right and bottom.
    ///     prior_box_var (Variable or list): ``[m, 4]``, or four numbers for all prior boxes.
    ///     target_box (Variable): to encode: boxes ``[n, 4]``, which may have a LoD. To decode: differences ``[n, m, 4]``
    ///         with ``axis`` 0, ``[m, n, 4]`` with ``axis`` 1.
    ///     code_type (str): ``encode_center_size`` or ``decode_center_size``.
    ///     box_normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their
    ///         right and bottom pixels.
    ///     axis (int): to decode: the axis of ``target_box`` along which prior boxes repeat, 0 or 1.
    ///
    /// Returns:
    ///     Variable: ``[n, m, 4]``, or the shape of ``target_box`` after decoding; the element type of ``prior_box``.
    ///
    /// Raises:
    ///     TypeError: ``prior_box_var`` is neither a Variable nor a list.
    ///
    /// Example:
    ///     >>> prior = fluid.layers.assign(np.array([[0, 0, 4, 2]], "float32"))
    ///     >>> boxes = fluid.layers.assign(np.array([[1, 0, 5, 2]], "float32"))
    ///     >>> codes = fluid.layers.box_coder(prior, [0.5, 0.5, 1.0, 1.0], boxes)
    ///     >>> fluid.Executor().run(fetch_list=[codes])[0].tolist()
    ///     [[[0.5, 0.0, 0.0, 0.0]]]
    "detection.box_coder(prior_box, prior_box_var, target_box, code_type='encode_center_size', box_normalized=True, \
     name=None, axis=0)" => |net, a| {
        let options = BoxCoder::code(a.str("code_type")?)
            .box_normalized(a.bool("box_normalized")?)
            .axis(a.i32("axis")?);
        let variance = BoxVariance::read(a, "prior_box_var")?;
        net.box_coder(&a.var("prior_box")?, variance, &a.var("target_box")?, options)
    };

    /// Cuts boxes off at the borders of their image.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[n, ..., 4]`` with a LoD by image: left, top, right and bottom in pixels
    ///         of the original images.
    ///     im_info (Variable): the same element type, ``[images, 3]``: height and width as the network saw the image, and
    ///         the scale from the original; the border is at ``round(size / scale) - 1``.
    ///
    /// Returns:
    ///     Variable: like ``input``.
    ///
    /// Raises:
    ///     TypeError: elements are no floats.
    ///
    /// Example:
    ///     >>> boxes = fluid.layers.assign(np.array([[-3, 2, 30, 7]], "float32"))
    ///     >>> boxes = fluid.layers.lod_reset(boxes, target_lod=[0, 1])
    ///     >>> info = fluid.layers.assign(np.array([[10, 20, 1]], "float32"))
    ///     >>> out = fluid.Executor().run(fetch_list=[fluid.layers.box_clip(boxes, info)], return_numpy=False)[0]
    ///     >>> np.array(out).tolist()
    ///     [[0.0, 2.0, 19.0, 7.0]]
    "detection.box_clip(input, im_info, name=None)"
        => |net, a| net.box_clip(&a.typed_var(net, "input", FLOATS)?, &a.typed_var(net, "im_info", FLOATS)?);

    /// Decodes the boxes of every class from their differences, and picks that of the most likely class.
    ///
    /// Cascade R-CNN uses it between its heads. No gradient flows through it.
    ///
    /// Args:
    ///     prior_box (Variable): float32 or float64, ``[n, 4]``: left, top, right and bottom of each region, in pixels.
    ///     prior_box_var (Variable): ``[4]``: the variances of the differences.
    ///     target_box (Variable): ``[n, 4 * classes]``: differences of each class.
    ///     box_score (Variable): ``[n, classes]``; class 0 is the background.
    ///     box_clip (float): the largest difference of width and height, so that exponentials stay small, such as 4.135.
    ///
    /// Returns:
    ///     tuple: the boxes of all classes ``[n, 4 * classes]``, and for each region that of the class above 0 with the
    ///     highest score ``[n, 4]``.
    ///
    /// Example:
    ///     >>> prior = fluid.layers.assign(np.array([[0, 0, 3, 1]], "float32"))
    ///     >>> variance = fluid.layers.assign(np.array([0.1, 0.1, 0.2, 0.2], "float32"))
    ///     >>> target = fluid.layers.assign(np.array([[0, 0, 0, 0, 10, 0, 0, 0]], "float32"))
    ///     >>> score = fluid.layers.assign(np.array([[0.2, 0.8]], "float32"))
    ///     >>> boxes, best = fluid.layers.box_decoder_and_assign(prior, variance, target, score, 4.135)
    ///     >>> fluid.Executor().run(fetch_list=[best])[0].tolist()
    ///     [[4.0, 0.0, 7.0, 1.0]]
    "detection.box_decoder_and_assign(prior_box, prior_box_var, target_box, box_score, box_clip, name=None)"
        => |net, a| net.box_decoder_and_assign(&a.var("prior_box")?, &a.var("prior_box_var")?, &a.var("target_box")?,
        &a.var("box_score")?, a.f32("box_clip")?);

    /// Computes corners of polygons from their distances from each pixel, for text detectors such as EAST.
    ///
    /// Even channels hold distances across, odd ones distances down: the results are ``4 * column - input`` and
    /// ``4 * row - input``, in pixels of an image four times as large. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///
    /// Returns:
    ///     Variable: like ``input``.
    ///
    /// Raises:
    ///     TypeError: the elements of ``input`` are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.ones([1, 2, 1, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.polygon_box_transform(x)])[0].tolist()
    ///     [[[[-1.0, 3.0]], [[-1.0, -1.0]]]]
    "detection.polygon_box_transform(input, name=None)"
        => |net, a| net.polygon_box_transform(&a.typed_var(net, "input", FLOATS)?);
}
