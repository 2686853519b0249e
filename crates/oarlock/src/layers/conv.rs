//! Convolutions of images and volumes.

use oarlock_ir::{Error, Kind, Op, Result, fail};

use crate::declare::{Args, declare};
use crate::layer::{Layer, known};
use crate::options::options;
use crate::{Act, Initializer, Net, Param, VarRef};

/// A number per spatial dimension; one number stands for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spatial(pub Vec<i32>);

impl From<i32> for Spatial {
    fn from(v: i32) -> Spatial {
        Spatial(vec![v])
    }
}

impl<const N: usize> From<[i32; N]> for Spatial {
    fn from(v: [i32; N]) -> Spatial {
        Spatial(v.to_vec())
    }
}

impl From<Vec<i32>> for Spatial {
    fn from(v: Vec<i32>) -> Spatial {
        Spatial(v)
    }
}

impl Spatial {
    /// A number for each of `n` dimensions; `what` is its name in messages.
    pub(crate) fn each(&self, n: usize, what: &str) -> Result<Vec<i32>> {
        match self.0.as_slice() {
            [one] => Ok(vec![*one; n]),
            all if all.len() == n => Ok(all.to_vec()),
            all => fail!(Kind::Argument, "{what} takes one number or {n}, not {}", all.len()),
        }
    }
}

/// The padding around an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Padding {
    /// So much: one number, one per dimension, or one for each side of each dimension.
    Explicit(Vec<i32>),
    /// As much as makes the result as large as the input divided by the stride.
    Same,
    /// Nothing.
    Valid,
}

impl From<i32> for Padding {
    fn from(v: i32) -> Padding {
        Padding::Explicit(vec![v])
    }
}

impl<const N: usize> From<[i32; N]> for Padding {
    fn from(v: [i32; N]) -> Padding {
        Padding::Explicit(v.to_vec())
    }
}

impl From<Vec<i32>> for Padding {
    fn from(v: Vec<i32>) -> Padding {
        Padding::Explicit(v)
    }
}

impl Padding {
    /// From Fluid's word: `SAME` or `VALID`, in any case.
    pub fn parse(word: &str) -> Result<Padding> {
        match word.to_uppercase().as_str() {
            "SAME" => Ok(Padding::Same),
            "VALID" => Ok(Padding::Valid),
            _ => fail!(Kind::Argument, "padding must be SAME, VALID or numbers, not {word:?}"),
        }
    }

    /// Sizes for each side of each dimension, as pairs.
    pub(crate) fn sides(&self, n: usize) -> Result<Vec<i32>> {
        let Padding::Explicit(sizes) = self else { return Ok(vec![0; 2 * n]) };
        if sizes.len() == 2 * n {
            return Ok(sizes.clone());
        }
        let each = Spatial(sizes.clone()).each(n, "padding")?;
        Ok(each.into_iter().flat_map(|p| [p, p]).collect())
    }

    /// Sizes as attributes hold them: one per dimension where both sides agree, else one per side.
    pub(crate) fn sizes(&self, n: usize) -> Result<Vec<i32>> {
        let sides = self.sides(n)?;
        let symmetric = sides.chunks(2).all(|pair| pair[0] == pair[1]);
        Ok(if symmetric { sides.into_iter().step_by(2).collect() } else { sides })
    }

    /// The attribute `padding_algorithm`.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Padding::Explicit(_) => "EXPLICIT",
            Padding::Same => "SAME",
            Padding::Valid => "VALID",
        }
    }
}

/// Where the channels of images stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// `NCHW`, `NCDHW`
    #[default]
    ChannelsFirst,
    /// `NHWC`, `NDHWC`
    ChannelsLast,
}

impl Layout {
    /// From Fluid's word: `NCHW`, `NCDHW`, `NHWC` or `NDHWC`.
    pub fn parse(word: &str) -> Result<Layout> {
        match word {
            "NCHW" | "NCDHW" => Ok(Layout::ChannelsFirst),
            "NHWC" | "NDHWC" => Ok(Layout::ChannelsLast),
            _ => fail!(Kind::Argument, "data_format must be NCHW, NHWC, NCDHW or NDHWC, not {word:?}"),
        }
    }

    /// The attribute for this number of spatial dimensions.
    pub(crate) fn word(self, spatial: usize) -> &'static str {
        match (self, spatial) {
            (Layout::ChannelsFirst, 3) => "NCDHW",
            (Layout::ChannelsFirst, _) => "NCHW",
            (Layout::ChannelsLast, 3) => "NDHWC",
            (Layout::ChannelsLast, _) => "NHWC",
        }
    }

    /// The dimension of the channels of a tensor of this rank.
    pub(crate) fn channel_axis(self, rank: usize) -> usize {
        if self == Layout::ChannelsFirst { 1 } else { rank - 1 }
    }
}

options! {
    /// `conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
    /// use_cudnn=True, act=None, name=None, data_format='NCHW')`; `conv3d` alike.
    Conv::new(
        /// Channels of the result.
        num_filters: usize,
        /// Size of the filter.
        filter_size(into): Spatial,
    ) {
        /// Steps of the filter.
        stride(into): Spatial = Spatial::from(1),
        /// The padding around the image.
        padding(into): Padding = Padding::from(0),
        /// Distances between the filter's elements.
        dilation(into): Spatial = Spatial::from(1),
        /// Channels are divided into this number of groups that do not see each other.
        groups: Option<usize> = None,
        /// The filters.
        param_attr(into): Param = Param::default(),
        /// The bias, one per channel.
        bias_attr(into): Param = Param::default(),
        /// Without it, a convolution of each channel alone is `depthwise_conv2d`, as in Fluid; nothing else depends on it.
        use_cudnn: bool = true,
        /// Activation.
        act(into): Act = Act::none(),
        /// Where the channels are.
        data_format: Layout = Layout::ChannelsFirst,
    }
}

options! {
    /// `conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
    /// param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')`; `conv3d_transpose` alike.
    /// Either `output_size` or `filter_size` must be set.
    ConvTranspose::new(
        /// Channels of the result.
        num_filters: usize,
    ) {
        /// Size of the result.
        output_size: Option<Spatial> = None,
        /// Size of the filter; without it, the size that gives `output_size`.
        filter_size: Option<Spatial> = None,
        /// The border that is removed around the result.
        padding(into): Padding = Padding::from(0),
        /// Steps of the filter.
        stride(into): Spatial = Spatial::from(1),
        /// Distances between the filter's elements.
        dilation(into): Spatial = Spatial::from(1),
        /// Channels are divided into this number of groups that do not see each other.
        groups: Option<usize> = None,
        /// The filters.
        param_attr(into): Param = Param::default(),
        /// The bias, one per channel.
        bias_attr(into): Param = Param::default(),
        /// As in [`Conv`].
        use_cudnn: bool = true,
        /// Activation.
        act(into): Act = Act::none(),
        /// Where the channels are.
        data_format: Layout = Layout::ChannelsFirst,
    }
}

impl ConvTranspose {
    /// With filters of this size.
    pub fn filter(num_filters: usize, filter_size: impl Into<Spatial>) -> ConvTranspose {
        ConvTranspose::new(num_filters).filter_size(Some(filter_size.into()))
    }
}

impl Net {
    /// A convolution of images `[batch, channels, height, width]`.
    #[track_caller]
    pub fn conv2d(&mut self, input: &VarRef, options: Conv) -> Result<VarRef> {
        let channels = self.channels("conv2d", input, 2, options.data_format)?;
        let depthwise =
            options.groups == Some(channels) && options.num_filters.is_multiple_of(channels) && !options.use_cudnn;
        self.conv(if depthwise { "depthwise_conv2d" } else { "conv2d" }, input, 2, &options)
    }

    /// A convolution of volumes `[batch, channels, depth, height, width]`.
    #[track_caller]
    pub fn conv3d(&mut self, input: &VarRef, options: Conv) -> Result<VarRef> {
        self.conv("conv3d", input, 3, &options)
    }

    /// The transpose of a convolution of images: makes them larger.
    #[track_caller]
    pub fn conv2d_transpose(&mut self, input: &VarRef, options: ConvTranspose) -> Result<VarRef> {
        let channels = self.channels("conv2d_transpose", input, 2, options.data_format)?;
        let depthwise = options.groups == Some(channels) && options.num_filters == channels && !options.use_cudnn;
        let op_type = if depthwise { "depthwise_conv2d_transpose" } else { "conv2d_transpose" };
        self.conv_transpose(op_type, input, 2, &options)
    }

    /// The transpose of a convolution of volumes.
    #[track_caller]
    pub fn conv3d_transpose(&mut self, input: &VarRef, options: ConvTranspose) -> Result<VarRef> {
        self.conv_transpose("conv3d_transpose", input, 3, &options)
    }

    #[track_caller]
    fn conv(&mut self, op_type: &str, input: &VarRef, n: usize, options: &Conv) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let channels = layer.channels(op_type, input, n, options.data_format)?;
        let groups = options.groups.unwrap_or(1);
        if groups == 0 || !channels.is_multiple_of(groups) {
            fail!(
                Kind::Argument,
                "`{op_type}`: {channels} channels of `{input}` cannot be divided into {groups} groups"
            );
        }
        let dtype = layer.dtype(input)?;
        let filter = sizes(&options.filter_size, n, "filter_size")?;
        let field: usize = filter.iter().product();
        let first = Initializer::normal(0.0, (2.0 / (field * channels) as f64).sqrt());
        let shape = [vec![options.num_filters, channels / groups], filter].concat();
        let w = layer.weight_with(&options.param_attr, &shape, dtype, Some(first))?;
        let op = Op::new(op_type)
            .input("Input", [input])
            .input("Filter", [&w])
            .attr("strides", options.stride.each(n, "stride")?)
            .attr("paddings", options.padding.sizes(n)?)
            .attr("dilations", options.dilation.each(n, "dilation")?)
            .attr("groups", groups as i32)
            .attr("padding_algorithm", options.padding.algorithm())
            .attr("data_format", options.data_format.word(n));
        let out = layer.out_slot("Output", dtype, op)?;
        layer.channel_bias(&out, &options.bias_attr, n, options.data_format, &options.act)
    }

    #[track_caller]
    fn conv_transpose(&mut self, op_type: &str, input: &VarRef, n: usize, options: &ConvTranspose) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let channels = layer.channels(op_type, input, n, options.data_format)?;
        let dtype = layer.dtype(input)?;
        let groups = options.groups.unwrap_or(1).max(1);
        let filter = layer.transposed_filter(input, n, options)?;
        let shape = [vec![channels, options.num_filters / groups], filter].concat();
        let w = layer.weight(&options.param_attr, &shape, dtype)?;
        let output_size = match &options.output_size {
            Some(size) => size.each(n, "output_size")?,
            None => Vec::new(),
        };
        let op = Op::new(op_type)
            .input("Input", [input])
            .input("Filter", [&w])
            .attr("output_size", output_size)
            .attr("strides", options.stride.each(n, "stride")?)
            .attr("paddings", options.padding.sizes(n)?)
            .attr("padding_algorithm", options.padding.algorithm())
            .attr("dilations", options.dilation.each(n, "dilation")?)
            .attr("groups", groups as i32)
            // 1.8 writes the word of images for volumes, too.
            .attr("data_format", options.data_format.word(2));
        let out = layer.out_slot("Output", dtype, op)?;
        layer.channel_bias(&out, &options.bias_attr, n, options.data_format, &options.act)
    }

    /// The number of channels of images with `n` spatial dimensions.
    fn channels(&self, op_type: &str, input: &VarRef, n: usize, layout: Layout) -> Result<usize> {
        let shape = self.shape(input)?;
        if shape.rank() != n + 2 {
            let what = format!("`{op_type}` needs {} dimensions, but `{input}` has shape {shape}", n + 2);
            return Err(Error::new(Kind::Shape, what).help("reshape it to batch, channels and sizes"));
        }
        let axis = layout.channel_axis(shape.rank());
        Ok(known(&shape[axis..=axis], &format!("`{op_type}`"), input)?[0])
    }
}

impl Layer<'_> {
    /// The size of the filter that gives the wanted size of the result, or the one that was asked for.
    fn transposed_filter(&self, input: &VarRef, n: usize, options: &ConvTranspose) -> Result<Vec<usize>> {
        if let Some(filter) = &options.filter_size {
            return sizes(filter, n, "filter_size");
        }
        let Some(output) = &options.output_size else {
            fail!(Kind::Argument, "a transposed convolution needs filter_size or output_size");
        };
        let shape = self.shape(input)?;
        let first = if options.data_format == Layout::ChannelsFirst { 2 } else { 1 };
        let image = known(&shape[first..first + n], "output_size", input)?;
        let (output, sides) = (output.each(n, "output_size")?, options.padding.sides(n)?);
        let (stride, dilation) = (options.stride.each(n, "stride")?, options.dilation.each(n, "dilation")?);
        let size = |i: usize| {
            let covered = output[i] - (image[i] as i32 - 1) * stride[i] + sides[2 * i] + sides[2 * i + 1] - 1;
            covered.div_euclid(dilation[i].max(1)) + 1
        };
        let filter = Spatial((0..n).map(size).collect());
        sizes(&filter, n, "the filter for this output_size")
    }

    /// A bias per channel, then the activation.
    fn channel_bias(&mut self, x: &VarRef, bias: &Param, n: usize, layout: Layout, act: &Act) -> Result<VarRef> {
        let axis = layout.channel_axis(n + 2);
        let out = self.bias(x, bias, axis, Some(axis + 1))?;
        self.activate(out, act)
    }
}

fn sizes(spatial: &Spatial, n: usize, what: &str) -> Result<Vec<usize>> {
    let to_size = |v: i32| match usize::try_from(v) {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(Error::new(Kind::Argument, format!("{what} must be positive, but it is {v}"))),
    };
    spatial.each(n, what)?.into_iter().map(to_size).collect()
}

declare! {
    /// A 2-D convolution, with bias and activation.
    ///
    /// Args:
    ///     input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
    ///     num_filters (int): channels of the result.
    ///     filter_size (int or list): ``[vertical, horizontal]`` or one number for both.
    ///     stride (int or list): ``[vertical, horizontal]`` or one number for both.
    ///     padding (int, list or str): pixels around the image, or ``"SAME"`` or ``"VALID"``.
    ///     dilation (int or list): ``[vertical, horizontal]`` or one number for both.
    ///     groups (int): channels are convolved in this number of groups.
    ///     param_attr (ParamAttr): name, initializer, regularizer of the weight.
    ///     bias_attr (ParamAttr or False): the same of the bias; ``False``: no bias.
    ///     act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, H, W]`` with ``H = (height + 2 * padding - dilation * (filter_size - 1) - 1) //
    ///         stride + 1``.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 3, 32, 32])
    ///     >>> fluid.layers.conv2d(image, 16, 3, padding=1, act="relu").shape
    ///     (-1, 16, 32, 32)
    "nn.conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, \
     bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')"
        => |net, a| net.conv2d(&a.var("input")?, conv(a)?);

    /// A 3-D convolution of ``[batch, channels, depth, height, width]``; arguments as in `conv2d`.
    ///
    /// Args:
    ///     input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
    ///     num_filters (int): channels of the result.
    ///     filter_size (int or list): size of the filter.
    ///     stride (int or list): steps of the filter.
    ///     padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
    ///     dilation (int or list): distances between the filter's elements.
    ///     groups (int): channels are cut into so many groups that do not see each other.
    ///     param_attr (ParamAttr): the filters.
    ///     bias_attr (ParamAttr): the bias, one per channel.
    ///     act (str): activation.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, \
     bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW')"
        => |net, a| net.conv3d(&a.var("input")?, conv(a)?);

    /// The transpose of a 2-D convolution: it makes images larger. ``output_size`` or ``filter_size`` must be given; other
    /// arguments as in `conv2d`.
    ///
    /// Args:
    ///     input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
    ///     num_filters (int): channels of the result.
    ///     output_size (int or list): size of the result.
    ///     filter_size (int or list): size of the filter; without it, the size that gives `output_size`.
    ///     padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
    ///     stride (int or list): steps of the filter.
    ///     dilation (int or list): distances between the filter's elements.
    ///     groups (int): channels are cut into so many groups that do not see each other.
    ///     param_attr (ParamAttr): the filters.
    ///     bias_attr (ParamAttr): the bias, one per channel.
    ///     act (str): activation.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 3, 16, 16])
    ///     >>> fluid.layers.conv2d_transpose(image, 8, filter_size=2, stride=2).shape
    ///     (-1, 8, 32, 32)
    "nn.conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, \
     dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, \
     data_format='NCHW')"
        => |net, a| net.conv2d_transpose(&a.var("input")?, conv_transpose(a)?);

    /// The transpose of a 3-D convolution; arguments as in `conv2d_transpose`.
    ///
    /// Args:
    ///     input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
    ///     num_filters (int): channels of the result.
    ///     output_size (int or list): size of the result.
    ///     filter_size (int or list): size of the filter; without it, the size that gives `output_size`.
    ///     padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
    ///     stride (int or list): steps of the filter.
    ///     dilation (int or list): distances between the filter's elements.
    ///     groups (int): channels are cut into so many groups that do not see each other.
    ///     param_attr (ParamAttr): the filters.
    ///     bias_attr (ParamAttr): the bias, one per channel.
    ///     act (str): activation.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, \
     dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, \
     data_format='NCDHW')"
        => |net, a| net.conv3d_transpose(&a.var("input")?, conv_transpose(a)?);
}

fn conv(a: &Args) -> Result<Conv> {
    Ok(Conv::new(a.usize("num_filters")?, a.spatial("filter_size")?)
        .stride(a.spatial("stride")?)
        .padding(a.padding("padding")?)
        .dilation(a.spatial("dilation")?)
        .groups(a.opt("groups", Args::usize)?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_cudnn(a.bool("use_cudnn")?)
        .act(a.act("act")?)
        .data_format(a.layout("data_format")?))
}

fn conv_transpose(a: &Args) -> Result<ConvTranspose> {
    Ok(ConvTranspose::new(a.usize("num_filters")?)
        .output_size(a.opt("output_size", Args::spatial)?)
        .filter_size(a.opt("filter_size", Args::spatial)?)
        .padding(a.padding("padding")?)
        .stride(a.spatial("stride")?)
        .dilation(a.spatial("dilation")?)
        .groups(a.opt("groups", Args::usize)?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_cudnn(a.bool("use_cudnn")?)
        .act(a.act("act")?)
        .data_format(a.layout("data_format")?))
}
