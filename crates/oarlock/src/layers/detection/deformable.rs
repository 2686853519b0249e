//! Convolutions and pooling at points that are moved by offsets.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::FLOATS;
use crate::declare::{Args, declare};
use crate::layer::known;
use crate::layers::Spatial;
use crate::options::options;
use crate::{Initializer, Net, Param, VarRef};

options! {
    /// `deformable_conv(input, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    /// deformable_groups=None, im2col_step=None, param_attr=None, bias_attr=None)`
    DeformableConv::new(
        /// Channels of the result.
        num_filters: usize,
        /// Size of the filter.
        filter_size(into): Spatial,
    ) {
        /// Steps of the filter.
        stride(into): Spatial = Spatial::from(1),
        /// Zeros around the image.
        padding(into): Spatial = Spatial::from(0),
        /// Distances between the filter's elements, before offsets.
        dilation(into): Spatial = Spatial::from(1),
        /// Channels are divided into this number of groups that do not see each other.
        groups: Option<usize> = None,
        /// Channels are divided into this number of groups that have offsets of their own.
        deformable_groups: Option<i32> = None,
        /// How many images Fluid lays out at a time; results do not depend on it.
        im2col_step: Option<i32> = None,
        /// The filters.
        param_attr(into): Param = Param::default(),
        /// The bias, one per channel.
        bias_attr(into): Param = Param::default(),
    }
}

options! {
    /// `deformable_roi_pooling(input, rois, trans, no_trans=False, spatial_scale=1.0, group_size=[1, 1], pooled_height=1,
    /// pooled_width=1, part_size=None, sample_per_part=1, trans_std=0.1, position_sensitive=False)`
    DeformableRoiPooling::new() {
        /// Parts are not moved.
        no_trans: bool = false,
        /// The feature map's size over that of the image to which regions refer.
        spatial_scale: f32 = 1.0,
        /// Rows and columns of channels.
        group_size(into): Spatial = Spatial::from(1),
        /// Rows of the result.
        pooled_height: usize = 1,
        /// Columns of the result.
        pooled_width: usize = 1,
        /// Rows and columns of moves; as many as the result has, unless it is set.
        part_size: Option<Spatial> = None,
        /// Points of a part along each axis.
        sample_per_part: i32 = 1,
        /// Factor of the moves.
        trans_std: f32 = 0.1,
        /// Each part has channels of its own.
        position_sensitive: bool = false,
    }
}

impl Net {
    /// A convolution whose points are moved by `offset` and, with a mask (version 2), multiplied by it.
    #[track_caller]
    pub fn deformable_conv(
        &mut self,
        input: &VarRef,
        offset: &VarRef,
        mask: Option<&VarRef>,
        options: DeformableConv,
    ) -> Result<VarRef> {
        let mut layer = self.layer("deformable_conv");
        let channels = channels(&layer, "deformable_conv", input)?;
        let groups = options.groups.unwrap_or(1);
        if groups == 0 || !channels.is_multiple_of(groups) {
            fail!(Kind::Argument, "`deformable_conv`: {channels} channels cannot be divided into {groups} groups");
        }
        let dtype = layer.dtype(input)?;
        let filter = options.filter_size.each(2, "filter_size")?;
        let sizes: Vec<usize> = filter.iter().filter_map(|&n| usize::try_from(n).ok()).collect();
        if sizes.len() != 2 || sizes.contains(&0) {
            fail!(Kind::Argument, "filter_size of `deformable_conv` must be above 0, but is {filter:?}");
        }
        let field = sizes[0] * sizes[1] * channels;
        let first = Initializer::normal(0.0, (2.0 / field as f64).sqrt());
        let shape = [options.num_filters, channels / groups, sizes[0], sizes[1]];
        let weight = layer.weight_with(&options.param_attr, &shape, dtype, Some(first))?;
        let op = Op::new(if mask.is_some() { "deformable_conv" } else { "deformable_conv_v1" })
            .input("Input", [input])
            .input("Filter", [&weight])
            .input("Offset", [offset]);
        let op = match mask {
            Some(mask) => op.input("Mask", [mask]),
            None => op,
        };
        let out = layer.out_slot("Output", dtype, options.attrs(op)?)?;
        layer.bias(&out, &options.bias_attr, 1, Some(2))
    }

    /// Means of the parts of regions, each moved by `trans`.
    #[track_caller]
    pub fn deformable_roi_pooling(
        &mut self,
        input: &VarRef,
        rois: &VarRef,
        trans: &VarRef,
        options: DeformableRoiPooling,
    ) -> Result<VarRef> {
        let channels = channels(self, "deformable_roi_pooling", input)?;
        let (height, width) = (options.pooled_height, options.pooled_width);
        let parts = if options.position_sensitive { (height * width).max(1) } else { 1 };
        if !channels.is_multiple_of(parts) {
            fail!(
                Kind::Argument,
                "`deformable_roi_pooling`: {channels} channels cannot be divided into {height} * {width} parts"
            );
        }
        let (height, width) = (height as i32, width as i32);
        let part_size = options.part_size.unwrap_or(Spatial::from([height, width]));
        let op = Op::new("deformable_psroi_pooling")
            .input("Input", [input])
            .input("ROIs", [rois])
            .input("Trans", [trans])
            .attr("no_trans", options.no_trans)
            .attr("spatial_scale", options.spatial_scale)
            .attr("output_dim", (channels / parts) as i32)
            .attr("group_size", options.group_size.each(2, "group_size")?)
            .attr("pooled_height", height)
            .attr("pooled_width", width)
            .attr("part_size", part_size.each(2, "part_size")?)
            .attr("sample_per_part", options.sample_per_part)
            .attr("trans_std", options.trans_std);
        let dtype = self.dtype(input)?;
        let [out, _] = self.detection_op(op, [("Output", dtype), ("TopCount", DType::I32)], true)?;
        Ok(out)
    }
}

impl DeformableConv {
    fn attrs(&self, op: Op) -> Result<Op> {
        let mut op = op
            .attr("strides", self.stride.each(2, "stride")?)
            .attr("paddings", self.padding.each(2, "padding")?)
            .attr("dilations", self.dilation.each(2, "dilation")?);
        let groups = self.groups.map(|n| n as i32);
        let optional =
            [("groups", groups), ("deformable_groups", self.deformable_groups), ("im2col_step", self.im2col_step)];
        for (name, value) in optional {
            if let Some(value) = value {
                op = op.attr(name, value);
            }
        }
        Ok(op)
    }
}

/// The channels of images.
fn channels(net: &Net, layer: &str, input: &VarRef) -> Result<usize> {
    let shape = net.shape(input)?;
    if shape.rank() != 4 {
        fail!(Kind::Shape, "`{layer}` needs images [batch, channels, height, width], but `{input}` has shape {shape}");
    }
    Ok(known(&shape[1..2], &format!("`{layer}`"), input)?[0])
}

declare! {
    /// Convolves images with filters whose points are moved, position by position, by offsets that the network computes.
    ///
    /// Values are linear between pixels and 0 outside of the image. Version 2 (``modulated``) multiplies every point by a
    /// mask. Gradients flow into all inputs. Version 1 of Fluid 1.8.5 mixes up images and filters of a batch of several images
    /// if ``im2col_step`` is above 1; here results do not depend on it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     offset (Variable): ``[batch, 2 * deformable_groups * filter points, out height, out width]``: down and across for
    ///         each point in turn.
    ///     mask (Variable): ``[batch, deformable_groups * filter points, out height, out width]``: factors; ``None`` unless
    ///         ``modulated``.
    ///     num_filters (int): channels of the result.
    ///     filter_size (int, list or tuple): height and width of the filter, or one number for both.
    ///     stride (int, list or tuple): steps of the filter.
    ///     padding (int, list or tuple): zeros around the image.
    ///     dilation (int, list or tuple): distances between the points of the filter, before offsets.
    ///     groups (int): channels are divided into this number of groups that do not see each other; ``None``: 1.
    ///     deformable_groups (int): channels are divided into this number of groups that have offsets of their own;
    ///         ``None``: 1.
    ///     im2col_step (int): how many images Fluid lays out at a time; it must be above 0, results do not depend on it.
    ///     param_attr (ParamAttr): the filters.
    ///     bias_attr (ParamAttr or False): a bias per channel; ``False``: none.
    ///     modulated (bool): version 2, with a mask; ``False``: version 1.
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, out height, out width]``.
    ///
    /// Raises:
    ///     ValueError: the channels cannot be divided into ``groups``, or there is no mask although it is ``modulated``.
    ///     TypeError: elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 3, 8, 8])
    ///     >>> offset, mask = fluid.data("offset", [None, 18, 6, 6]), fluid.data("mask", [None, 9, 6, 6])
    ///     >>> fluid.layers.deformable_conv(x, offset, mask, num_filters=4, filter_size=3).shape
    ///     (-1, 4, 6, 6)
    "nn.deformable_conv(input, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, \
     deformable_groups=None, im2col_step=None, param_attr=None, bias_attr=None, modulated=True, name=None)" => |net, a| {
        let (input, offset) = (a.typed_var(net, "input", FLOATS)?, a.typed_var(net, "offset", FLOATS)?);
        let mask = a.opt_var("mask")?;
        let mask = match (a.bool("modulated")?, &mask) {
            (false, _) => None,
            (true, Some(mask)) => Some(mask),
            (true, None) => fail!(Kind::Argument, "`deformable_conv` needs a mask, or modulated=False"),
        };
        let options = DeformableConv::new(a.usize("num_filters")?, a.spatial("filter_size")?)
            .stride(a.spatial("stride")?)
            .padding(a.spatial("padding")?)
            .dilation(a.spatial("dilation")?)
            .groups(a.opt("groups", Args::usize)?)
            .deformable_groups(a.opt("deformable_groups", Args::i32)?)
            .im2col_step(a.opt("im2col_step", Args::i32)?)
            .param_attr(a.param("param_attr")?)
            .bias_attr(a.param("bias_attr")?);
        net.deformable_conv(&input, &offset, mask, options)
    };

    /// Pools regions of a feature map to one size: the mean of every part, each moved by offsets that the network computes.
    ///
    /// Gradients flow into ``input`` and ``trans``.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
    ///     rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
    ///         pixels of the image.
    ///     trans (Variable): ``[regions, 2 * classes, part height, part width]``: moves across and down, for each class in
    ///         turn, as fractions of the region.
    ///     no_trans (bool): parts are not moved.
    ///     spatial_scale (float): the size of the feature map over that of the image.
    ///     group_size (list or tuple): rows and columns of channels.
    ///     pooled_height (int): rows of the result.
    ///     pooled_width (int): columns of the result.
    ///     part_size (list or tuple): rows and columns of moves; ``None``: those of the result.
    ///     sample_per_part (int): points of a part along each axis.
    ///     trans_std (float): factor of the moves.
    ///     position_sensitive (bool): every part has channels of its own, and the result has ``channels / (pooled_height *
    ///         pooled_width)``.
    ///
    /// Returns:
    ///     Variable: ``[regions, channels, pooled_height, pooled_width]``; 0 where no point lies on the map.
    ///
    /// Raises:
    ///     ValueError: the channels cannot be divided into parts.
    ///     TypeError: elements are no floats, or a size is no list.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
    ///     >>> trans = fluid.layers.assign(np.zeros([1, 2, 1, 1], "float32"))
    ///     >>> out = fluid.layers.deformable_roi_pooling(x, rois, trans, no_trans=True)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[1.0]]]]
    "nn.deformable_roi_pooling(input, rois, trans, no_trans=False, spatial_scale=1.0, group_size=[1, 1], pooled_height=1, \
     pooled_width=1, part_size=None, sample_per_part=1, trans_std=0.1, position_sensitive=False, name=None)" => |net, a| {
        let [input, rois, trans] = super::retinanet::floats(net, a, ["input", "rois", "trans"])?;
        let options = DeformableRoiPooling::new()
            .no_trans(a.bool("no_trans")?)
            .spatial_scale(a.f32("spatial_scale")?)
            .group_size(a.i32_list("group_size")?)
            .pooled_height(a.usize("pooled_height")?)
            .pooled_width(a.usize("pooled_width")?)
            .part_size(a.opt("part_size", Args::i32_list)?.map(Spatial::from))
            .sample_per_part(a.i32("sample_per_part")?)
            .trans_std(a.f32("trans_std")?)
            .position_sensitive(a.bool("position_sensitive")?);
        net.deformable_roi_pooling(&input, &rois, &trans, options)
    };
}
