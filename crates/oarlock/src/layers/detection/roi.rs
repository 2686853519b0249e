//! Regions of a feature map in one size.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use super::FLOATS;
use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `roi_pool(input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0)`; `roi_align`, `psroi_pool`, `prroi_pool` and
    /// `roi_perspective_transform` alike.
    RoiPool::to(
        /// Rows of the result.
        pooled_height: i32,
        /// Columns of the result.
        pooled_width: i32,
    ) {
        /// The feature map's size over that of the image to which regions refer.
        spatial_scale: f32 = 1.0,
    }
}

impl RoiPool {
    fn attrs(&self, op: Op) -> Op {
        op.attr("pooled_height", self.pooled_height)
            .attr("pooled_width", self.pooled_width)
            .attr("spatial_scale", self.spatial_scale)
    }

    fn read(a: &Args) -> Result<RoiPool> {
        Ok(RoiPool::to(a.i32("pooled_height")?, a.i32("pooled_width")?).spatial_scale(a.f32("spatial_scale")?))
    }

    /// Of arguments whose Python types must be right, as Fluid checks them.
    fn exact(a: &Args) -> Result<RoiPool> {
        a.exact_f32("spatial_scale")?;
        RoiPool::read(a)
    }
}

/// The image of each region, if not by the LoD of the regions.
#[derive(Debug, Clone)]
pub enum RegionImages {
    /// By the LoD.
    Lod,
    /// By a variable: offsets, i64 `[images + 1]`, or for `prroi_pool` numbers of regions, i64 `[images]`.
    Var(VarRef),
}

impl From<Option<VarRef>> for RegionImages {
    fn from(var: Option<VarRef>) -> RegionImages {
        var.map_or(RegionImages::Lod, RegionImages::Var)
    }
}

impl RegionImages {
    fn input(&self, op: Op, slot: &str) -> Op {
        match self {
            RegionImages::Lod => op,
            RegionImages::Var(var) => op.input(slot, [var]),
        }
    }
}

impl Net {
    /// The largest values of the parts of regions.
    #[track_caller]
    pub fn roi_pool(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        options: RoiPool,
        images: impl Into<RegionImages>,
    ) -> Result<VarRef> {
        let op = options.attrs(Op::new("roi_pool").input("X", [input]).input("ROIs", [rois]));
        let dtype = self.dtype(input)?;
        let outputs = [("Out", dtype), ("Argmax", DType::I32)];
        let [out, _] = self.detection_op(images.into().input(op, "RoisLod"), outputs, true)?;
        Ok(out)
    }

    /// The means of the parts of regions at `sampling_ratio` squared points, linear between pixels; -1 for about one per pixel.
    #[track_caller]
    pub fn roi_align(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        options: RoiPool,
        sampling_ratio: i32,
        images: impl Into<RegionImages>,
    ) -> Result<VarRef> {
        let op = options.attrs(Op::new("roi_align").input("ROIs", [rois])).attr("sampling_ratio", sampling_ratio);
        self.unary(input, images.into().input(op, "RoisLod"))
    }

    /// The means of the parts of regions, each part from channels of its own.
    #[track_caller]
    pub fn psroi_pool(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        output_channels: i32,
        options: RoiPool,
    ) -> Result<VarRef> {
        let op = options.attrs(Op::new("psroi_pool").input("ROIs", [rois]));
        self.unary(input, op.attr("output_channels", output_channels))
    }

    /// The integrals of the parts of regions, linear between pixels, over their areas.
    #[track_caller]
    pub fn prroi_pool(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        options: RoiPool,
        images: impl Into<RegionImages>,
    ) -> Result<VarRef> {
        let op = options.attrs(Op::new("prroi_pool").input("ROIs", [rois]));
        self.unary(input, images.into().input(op, "BatchRoINums"))
    }

    /// Quadrilaterals of a feature map as rectangles; the places that were read; and the transforms.
    #[track_caller]
    pub fn roi_perspective_transform(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        options: RoiPool,
    ) -> Result<[VarRef; 3]> {
        let mut layer = self.layer("roi_perspective_transform");
        let dtype = layer.dtype(input)?;
        let [out, mask, matrix, places, weights] =
            [dtype, DType::I32, dtype, DType::I32, dtype].map(|dtype| layer.temp(dtype));
        let op = Op::new("roi_perspective_transform")
            .input("X", [input])
            .input("ROIs", [rois])
            .output("Out", [&out])
            .output("Out2InIdx", [&places])
            .output("Out2InWeights", [&weights])
            .output("Mask", [&mask])
            .output("TransformMatrix", [&matrix])
            .attr("transformed_height", options.pooled_height)
            .attr("transformed_width", options.pooled_width)
            .attr("spatial_scale", options.spatial_scale);
        layer.append_op(op)?;
        Ok([out, mask, matrix])
    }
}

declare! {
    /// Pools regions of a feature map to one size: the largest value of every part.
    ///
    /// A region is divided into ``pooled_height * pooled_width`` parts, rounded to pixels. Fast R-CNN uses it. Gradients
    /// flow into ``input``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
    ///     rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
    ///         pixels of the image.
    ///     pooled_height (int): rows of the result.
    ///     pooled_width (int): columns of the result.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///     rois_lod (Variable): int64, ``[batch + 1]``: where the regions of each image begin, instead of the LoD.
    ///
    /// Returns:
    ///     Variable: ``[regions, channels, pooled_height, pooled_width]``; 0 where a part has no pixels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.roi_pool(x, rois)])[0].tolist()
    ///     [[[[5.0]]]]
    "nn.roi_pool(input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, rois_lod=None)"
        => |net, a| net.roi_pool(&a.var("input")?, &a.var("rois")?, RoiPool::read(a)?, a.opt_var("rois_lod")?);

    /// Pools regions of a feature map to one size: the mean of every part at points between pixels.
    ///
    /// Regions are not rounded to pixels; values are linear between them. Mask R-CNN uses it. Gradients flow into
    /// ``input``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
    ///     rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
    ///         pixels of the image.
    ///     pooled_height (int): rows of the result.
    ///     pooled_width (int): columns of the result.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///     sampling_ratio (int): points of a part along each axis; 0 or less: about one per pixel.
    ///     rois_lod (Variable): int64, ``[batch + 1]``: where the regions of each image begin, instead of the LoD.
    ///
    /// Returns:
    ///     Variable: ``[regions, channels, pooled_height, pooled_width]``.
    ///
    /// Raises:
    ///     TypeError: elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.roi_align(x, rois)])[0].tolist()
    ///     [[[[3.25]]]]
    "nn.roi_align(input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, sampling_ratio=-1, name=None, \
     rois_lod=None)" => |net, a| {
        let (input, rois) = (a.typed_var(net, "input", FLOATS)?, a.typed_var(net, "rois", FLOATS)?);
        net.roi_align(&input, &rois, RoiPool::read(a)?, a.i32("sampling_ratio")?, a.opt_var("rois_lod")?)
    };

    /// Pools regions of a feature map to one size: the mean of every part, each from channels of its own.
    ///
    /// Channel ``(c * pooled_height + i) * pooled_width + j`` of ``input`` is channel ``c`` of part ``(i, j)``. R-FCN uses
    /// it. Gradients flow into ``input``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64,
    ///         ``[batch, output_channels * pooled_height * pooled_width, h, w]``.
    ///     rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
    ///         pixels of the image.
    ///     output_channels (int): channels of the result.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///     pooled_height (int): rows of the result.
    ///     pooled_width (int): columns of the result.
    ///
    /// Returns:
    ///     Variable: ``[regions, output_channels, pooled_height, pooled_width]``; 0 where a part has no pixels.
    ///
    /// Raises:
    ///     TypeError: a number has another Python type than is listed; ``spatial_scale`` must not be an int.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 3]], [[5, 9]], [[2, 4]], [[6, 8]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 0]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.psroi_pool(x, rois, 2, 1.0, 1, 2)])[0].tolist()
    ///     [[[[1.0, 9.0]], [[2.0, 8.0]]]]
    "nn.psroi_pool(input, rois, output_channels, spatial_scale, pooled_height, pooled_width, name=None)"
        => |net, a| net.psroi_pool(&a.var("input")?, &a.var("rois")?, a.i32("output_channels")?, RoiPool::exact(a)?);

    /// Pools regions of a feature map to one size: the integral of every part over its area.
    ///
    /// The map is linear between pixels and 0 outside, so nothing is rounded, and gradients flow into ``input`` and
    /// ``rois``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
    ///     rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
    ///         pixels of the image.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///     pooled_height (int): rows of the result.
    ///     pooled_width (int): columns of the result.
    ///     batch_roi_nums (Variable): int64, ``[batch]``: the number of regions of each image, instead of the LoD.
    ///
    /// Returns:
    ///     Variable: ``[regions, channels, pooled_height, pooled_width]``.
    ///
    /// Raises:
    ///     TypeError: a number has another Python type than is listed; ``spatial_scale`` must not be an int.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.prroi_pool(x, rois)])[0].tolist()
    ///     [[[[3.25]]]]
    "nn.prroi_pool(input, rois, spatial_scale=1.0, pooled_height=1, pooled_width=1, batch_roi_nums=None, name=None)"
        => |net, a| net.prroi_pool(&a.var("input")?, &a.var("rois")?, RoiPool::exact(a)?, a.opt_var("batch_roi_nums")?);

    /// Turns quadrilaterals of a feature map into rectangles of one size, by perspective, for slanted text.
    ///
    /// Values are linear between pixels, and 0 outside of the quadrilateral and of the map. Gradients flow into ``input``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32, ``[batch, channels, h, w]``.
    ///     rois (Variable): float32, ``[regions, 8]`` with a LoD by image: x and y of four corners, from the upper left one
    ///         clockwise, in pixels of the image.
    ///     transformed_height (int): rows of the result.
    ///     transformed_width (int): columns of the result.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///
    /// Returns:
    ///     tuple: ``[regions, channels, transformed_height, transformed_width]``; int32
    ///     ``[regions, 1, transformed_height, transformed_width]``: 1 where the map is read; and ``[regions, 9]``: the
    ///     transforms, from column, row and 1 to the map.
    ///
    /// Raises:
    ///     TypeError: elements are not float32, or a number has another Python type than is listed.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 2], [3, 4]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 0, 1, 1, 0, 1]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> out, mask, matrix = fluid.layers.roi_perspective_transform(x, rois, 2, 2)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
    ///     [[[[1.0, 2.0], [3.0, 4.0]]]]
    "detection.roi_perspective_transform(input, rois, transformed_height, transformed_width, spatial_scale=1.0, name=None)"
        => |net, a| {
        let (input, rois) = (a.typed_var(net, "input", &[DType::F32])?, a.typed_var(net, "rois", &[DType::F32])?);
        let options = RoiPool::to(a.i32("transformed_height")?, a.i32("transformed_width")?)
            .spatial_scale(a.exact_f32("spatial_scale")?);
        net.roi_perspective_transform(&input, &rois, options)
    };
}
