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
    /// Convolves images with trained filters, adds a bias and applies an activation.
    ///
    /// Each of the ``num_filters`` filters is multiplied with every window of the image and the products are summed;
    /// there is no reflection of the filter. The filters are a parameter
    /// ``[num_filters, channels / groups, *filter_size]``. With ``groups`` equal to the number of channels the
    /// convolution is depthwise.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``, or
    ///         ``[batch, height, width, channels]`` with ``NHWC``.
    ///     num_filters (int): the channels of the result.
    ///     filter_size (int, list or tuple): ``[vertical, horizontal]``, or one number for both.
    ///     stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for both.
    ///     padding (int, list, tuple or str): zeros around the image: one number, ``[vertical, horizontal]``,
    ///         ``[top, bottom, left, right]``, ``"SAME"`` (the result has the size of the input divided by the stride)
    ///         or ``"VALID"`` (none).
    ///     dilation (int, list or tuple): the distance of neighbouring filter elements in the image:
    ///         ``[vertical, horizontal]``, or one number for both.
    ///     groups (int): divides the channels and the filters into groups; each group of filters sees only its group of
    ///         channels. ``None``: 1.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: normally
    ///         distributed numbers with the deviation ``sqrt(2 / (filter elements * channels))``.
    ///     bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, H, W]`` with
    ///         ``H = (height + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``, and ``W`` likewise.
    ///
    /// Raises:
    ///     ValueError: ``groups`` does not divide the channels, or ``padding`` or ``data_format`` is no known word.
    ///     fluid.core.EnforceNotMet: the filter is larger than the padded image.
    ///     fluid.core.EnforceNotMet: ``input`` does not have four dimensions.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
    ///     >>> ones = fluid.initializer.Constant(1.0)
    ///     >>> out = fluid.layers.conv2d(image, num_filters=1, filter_size=2, param_attr=ones)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[out])[0].tolist()
    ///     [[[[8.0, 12.0], [20.0, 24.0]]]]
    ///     >>> photo = fluid.data("photo", [None, 3, 32, 32])
    ///     >>> fluid.layers.conv2d(photo, num_filters=16, filter_size=3, padding=1, act="relu").shape
    ///     (-1, 16, 32, 32)
    ///     >>> fluid.layers.conv2d(photo, num_filters=16, filter_size=3, stride=2).shape
    ///     (-1, 16, 15, 15)
    "nn.conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, \
     bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')"
        => |net, a| net.conv2d(&a.var("input")?, conv(a)?);

    /// Convolves volumes with trained filters, adds a bias and applies an activation.
    ///
    /// It is ``conv2d`` with one more dimension, such as the time of videos or the depth of scans. The filters are a
    /// parameter ``[num_filters, channels / groups, *filter_size]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
    ///         ``NDHWC``.
    ///     num_filters (int): the channels of the result.
    ///     filter_size (int, list or tuple): ``[depth, height, width]``, or one number for all.
    ///     stride (int, list or tuple): the steps of the window: ``[depth, height, width]``, or one number for all.
    ///     padding (int, list, tuple or str): zeros around the volume: one number, one per dimension, two per dimension
    ///         (front, back, top, bottom, left, right), ``"SAME"`` (the result has the size of the input divided by the
    ///         stride) or ``"VALID"`` (none).
    ///     dilation (int, list or tuple): the distance of neighbouring filter elements in the volume:
    ///         ``[depth, height, width]``, or one number for all.
    ///     groups (int): divides the channels and the filters into groups; each group of filters sees only its group of
    ///         channels. ``None``: 1.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: normally
    ///         distributed numbers with the deviation ``sqrt(2 / (filter elements * channels))``.
    ///     bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
    ///     data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
    ///         same format.
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, D, H, W]`` with
    ///         ``D = (depth + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``, and ``H`` and ``W``
    ///         likewise.
    ///
    /// Raises:
    ///     ValueError: ``groups`` does not divide the channels, or ``padding`` or ``data_format`` is no known word.
    ///     fluid.core.EnforceNotMet: the filter is larger than the padded volume.
    ///
    /// Example:
    ///     >>> video = fluid.data("video", [None, 3, 12, 32, 32])
    ///     >>> fluid.layers.conv3d(video, num_filters=2, filter_size=3).shape
    ///     (-1, 2, 10, 30, 30)
    "nn.conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, \
     bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW')"
        => |net, a| net.conv3d(&a.var("input")?, conv(a)?);

    /// Computes the transpose of a 2-D convolution (also called deconvolution), which makes images larger.
    ///
    /// Each pixel of the input is multiplied with the filter and added to a window of the result. The filters are a
    /// parameter ``[channels, num_filters / groups, *filter_size]``. Give ``filter_size``, ``output_size`` or both.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
    ///     num_filters (int): the channels of the result.
    ///     output_size (int, list or tuple): the size of the result: ``[vertical, horizontal]``, or one number for
    ///         both. With ``filter_size`` it chooses among the sizes that the stride allows, from the size of the
    ///         formula below to ``stride - 1`` more; ``None``: the size of the formula.
    ///     filter_size (int, list or tuple): ``[vertical, horizontal]``, or one number for both; ``None``: the size
    ///         that gives ``output_size``.
    ///     padding (int, list, tuple or str): zeros around the image: one number, ``[vertical, horizontal]``,
    ///         ``[top, bottom, left, right]``, ``"SAME"`` (the result has the size of the input divided by the stride)
    ///         or ``"VALID"`` (none).
    ///     stride (int, list or tuple): the steps of the window in the result: ``[vertical, horizontal]``, or one
    ///         number for both.
    ///     dilation (int, list or tuple): the distance of neighbouring filter elements in the result:
    ///         ``[vertical, horizontal]``, or one number for both.
    ///     groups (int): divides channels and filters into groups that do not mix. ``None``: 1.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, H, W]`` with
    ///         ``H = (height - 1) * stride - 2 * padding + dilation * (filter_size - 1) + 1``, and ``W`` likewise.
    ///
    /// Raises:
    ///     ValueError: neither ``filter_size`` nor ``output_size`` is given.
    ///     fluid.core.EnforceNotMet: no input of this size has the result ``output_size``.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.array([[1, 2]], "float32").reshape(1, 1, 1, 2))
    ///     >>> ones = fluid.initializer.Constant(1.0)
    ///     >>> out = fluid.layers.conv2d_transpose(image, 1, filter_size=2, stride=2, param_attr=ones)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[out])[0].tolist()
    ///     [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    ///     >>> photo = fluid.data("photo", [None, 3, 16, 16])
    ///     >>> fluid.layers.conv2d_transpose(photo, num_filters=8, output_size=[32, 32], stride=2).shape
    ///     (-1, 8, 32, 32)
    "nn.conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, \
     dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, \
     data_format='NCHW')"
        => |net, a| net.conv2d_transpose(&a.var("input")?, conv_transpose(a)?);

    /// Computes the transpose of a 3-D convolution, which makes volumes larger.
    ///
    /// It is ``conv2d_transpose`` with one more dimension. The filters are a parameter
    /// ``[channels, num_filters / groups, *filter_size]``. Give ``filter_size``, ``output_size`` or both.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
    ///         ``NDHWC``.
    ///     num_filters (int): the channels of the result.
    ///     output_size (int, list or tuple): the size of the result: ``[depth, height, width]``, or one number for all;
    ///         ``None``: the size of the formula below.
    ///     filter_size (int, list or tuple): ``[depth, height, width]``, or one number for all; ``None``: the size that
    ///         gives ``output_size``.
    ///     padding (int, list, tuple or str): zeros around the volume: one number, one per dimension, two per dimension
    ///         (front, back, top, bottom, left, right), ``"SAME"`` (the result has the size of the input divided by the
    ///         stride) or ``"VALID"`` (none).
    ///     stride (int, list or tuple): the steps of the window in the result: ``[depth, height, width]``, or one
    ///         number for all.
    ///     dilation (int, list or tuple): the distance of neighbouring filter elements in the result:
    ///         ``[depth, height, width]``, or one number for all.
    ///     groups (int): divides channels and filters into groups that do not mix. ``None``: 1.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
    ///     data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
    ///         same format.
    ///
    /// Returns:
    ///     Variable: ``[batch, num_filters, D, H, W]`` with
    ///         ``D = (depth - 1) * stride - 2 * padding + dilation * (filter_size - 1) + 1``, and ``H`` and ``W``
    ///         likewise.
    ///
    /// Raises:
    ///     ValueError: neither ``filter_size`` nor ``output_size`` is given.
    ///
    /// Example:
    ///     >>> volume = fluid.data("volume", [None, 3, 4, 8, 8])
    ///     >>> fluid.layers.conv3d_transpose(volume, num_filters=2, filter_size=2, stride=2).shape
    ///     (-1, 2, 8, 16, 16)
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
