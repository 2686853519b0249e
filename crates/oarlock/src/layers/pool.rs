//! Pooling of images and volumes.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::conv::{Layout, Padding, Spatial};
use crate::declare::{Args, Made, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `pool2d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
    /// ceil_mode=False, name=None, exclusive=True, data_format='NCHW')`; `pool3d` alike.
    Pool::size(
        /// Size of the window.
        pool_size(into): Spatial,
    ) {
        /// `max` or `avg`.
        pool_type(into): String = "max".to_string(),
        /// Steps of the window.
        pool_stride(into): Spatial = Spatial::from(1),
        /// The padding around the image.
        pool_padding(into): Padding = Padding::from(0),
        /// One window over the whole image.
        global_pooling: bool = false,
        /// Count a window that is not full as well.
        ceil_mode: bool = false,
        /// An average does not count what was added around.
        exclusive: bool = true,
        /// Where the channels are.
        data_format: Layout = Layout::ChannelsFirst,
    }
}

impl Pool {
    /// One window over the whole image.
    pub fn global() -> Pool {
        Pool::size(-1).global_pooling(true)
    }

    /// Averages, not maxima.
    #[must_use]
    pub fn avg(self) -> Pool {
        self.pool_type("avg")
    }
}

impl Net {
    /// Maxima or averages of windows of images `[batch, channels, height, width]`.
    #[track_caller]
    pub fn pool2d(&mut self, input: &VarRef, options: Pool) -> Result<VarRef> {
        self.pool("pool2d", input, 2, &options)
    }

    /// Maxima or averages of windows of volumes `[batch, channels, depth, height, width]`.
    #[track_caller]
    pub fn pool3d(&mut self, input: &VarRef, options: Pool) -> Result<VarRef> {
        self.pool("pool3d", input, 3, &options)
    }

    #[track_caller]
    fn pool(&mut self, op_type: &str, input: &VarRef, n: usize, options: &Pool) -> Result<VarRef> {
        check_type(&options.pool_type)?;
        if !options.global_pooling && options.pool_size == Spatial::from(-1) {
            fail!(Kind::Argument, "`{op_type}` needs pool_size, unless it is global");
        }
        if options.pool_padding == Padding::Valid && options.ceil_mode {
            fail!(
                Kind::Argument,
                "`{op_type}` with padding VALID never has windows that are not full: ceil_mode must be false"
            );
        }
        let op = Op::new(op_type)
            .attr("pooling_type", options.pool_type.as_str())
            .attr("ksize", options.pool_size.each(n, "pool_size")?)
            .attr("global_pooling", options.global_pooling)
            .attr("strides", options.pool_stride.each(n, "pool_stride")?)
            .attr("paddings", options.pool_padding.sizes(n)?)
            .attr("padding_algorithm", options.pool_padding.algorithm())
            .attr("ceil_mode", options.ceil_mode)
            .attr("exclusive", options.exclusive)
            .attr("data_format", options.data_format.word(n));
        self.unary(input, op)
    }

    /// `adaptive_pool2d(input, pool_size, pool_type='max')`: windows as large as gives a result of this size.
    #[track_caller]
    pub fn adaptive_pool2d(
        &mut self,
        input: &VarRef,
        pool_size: impl Into<Spatial>,
        pool_type: &str,
    ) -> Result<VarRef> {
        self.adaptive_pool(
            ["pool2d", "max_pool2d_with_index"],
            input,
            pool_size.into().each(2, "pool_size")?,
            pool_type,
        )
    }

    /// `adaptive_pool3d(input, pool_size, pool_type='max')`: the same for volumes.
    #[track_caller]
    pub fn adaptive_pool3d(
        &mut self,
        input: &VarRef,
        pool_size: impl Into<Spatial>,
        pool_type: &str,
    ) -> Result<VarRef> {
        self.adaptive_pool(
            ["pool3d", "max_pool3d_with_index"],
            input,
            pool_size.into().each(3, "pool_size")?,
            pool_type,
        )
    }

    #[track_caller]
    fn adaptive_pool(&mut self, ops: [&str; 2], input: &VarRef, ksize: Vec<i32>, pool_type: &str) -> Result<VarRef> {
        check_type(pool_type)?;
        if pool_type == "max" {
            return Ok(self.adaptive_max_pool(ops[1], input, ksize)?.0);
        }
        self.unary(input, Op::new(ops[0]).attr("pooling_type", pool_type).attr("ksize", ksize).attr("adaptive", true))
    }

    /// `adaptive_pool2d(..., pool_type='max', require_index=True)`: maxima, and where in the image they stand.
    #[track_caller]
    pub fn adaptive_max_pool2d(&mut self, input: &VarRef, pool_size: impl Into<Spatial>) -> Result<(VarRef, VarRef)> {
        self.adaptive_max_pool("max_pool2d_with_index", input, pool_size.into().each(2, "pool_size")?)
    }

    /// `adaptive_pool3d(..., pool_type='max', require_index=True)`: maxima, and where in the volume they stand.
    #[track_caller]
    pub fn adaptive_max_pool3d(&mut self, input: &VarRef, pool_size: impl Into<Spatial>) -> Result<(VarRef, VarRef)> {
        self.adaptive_max_pool("max_pool3d_with_index", input, pool_size.into().each(3, "pool_size")?)
    }

    #[track_caller]
    fn adaptive_max_pool(&mut self, op_type: &str, input: &VarRef, ksize: Vec<i32>) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer(op_type);
        let dtype: DType = layer.dtype(input)?;
        let (out, mask) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new(op_type).input("X", [input]).output("Out", [&out]).output("Mask", [&mask]);
        layer.append_op(op.attr("ksize", ksize).attr("adaptive", true))?;
        Ok((out, mask))
    }
}

fn check_type(pool_type: &str) -> Result<()> {
    match pool_type {
        "max" | "avg" => Ok(()),
        other => fail!(Kind::Argument, "pool_type must be max or avg, not {other:?}"),
    }
}

declare! {
    /// Takes the maximum or the mean of each window of images, channel by channel.
    ///
    /// The gradient of a maximum goes to the pixel that was taken, the gradient of a mean to all pixels of the window.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
    ///     pool_size (int, list or tuple): the window: ``[vertical, horizontal]``, or one number for both. It must be
    ///         given unless ``global_pooling`` is true.
    ///     pool_type (str): ``max``: the largest element; ``avg``: the mean.
    ///     pool_stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for
    ///         both.
    ///     pool_padding (int, list, tuple or str): pixels around the image: one number, ``[vertical, horizontal]``,
    ///         ``[top, bottom, left, right]``, ``"SAME"`` or ``"VALID"``. They never are a maximum.
    ///     global_pooling (bool): one window over the whole image; ``pool_size`` and ``pool_padding`` are not used.
    ///     ceil_mode (bool): round the size of the result up instead of down: windows that reach over the border count,
    ///         too.
    ///     exclusive (bool): a mean does not count the padding.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, H, W]`` with
    ///         ``H = (height - pool_size + 2 * pool_padding) // pool_stride + 1``, and ``W`` likewise; ``H`` and ``W``
    ///         are 1 with ``global_pooling``.
    ///
    /// Raises:
    ///     ValueError: ``pool_type`` is unknown, or there is no ``pool_size``.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 1, 4, 4))
    ///     >>> out = fluid.layers.pool2d(image, pool_size=2, pool_type="max", pool_stride=2)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[5.0, 7.0], [13.0, 15.0]]]]
    ///     >>> out = fluid.layers.pool2d(image, pool_type="avg", global_pooling=True)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[7.5]]]]
    ///     >>> photo = fluid.data("photo", [None, 16, 32, 32])
    ///     >>> fluid.layers.pool2d(photo, pool_size=3, pool_type="avg", pool_stride=2, pool_padding=1).shape
    ///     (-1, 16, 16, 16)
    "nn.pool2d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, \
     use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCHW')"
        => |net, a| net.pool2d(&a.var("input")?, pool(a)?);

    /// Takes the maximum or the mean of windows that are chosen so that the result has the size ``pool_size``.
    ///
    /// Window ``i`` of ``n`` goes from ``floor(i * height / n)`` to ``ceil((i + 1) * height / n)``; neighbouring
    /// windows may overlap.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     pool_size (int, list or tuple): the size of the result: ``[vertical, horizontal]``, or one number for both.
    ///     pool_type (str): ``max``: the largest element; ``avg``: the mean.
    ///     require_index (bool): also return the position of each maximum; only with ``max``.
    ///
    /// Returns:
    ///     Variable or tuple: a Variable ``[batch, channels, *pool_size]``; with ``require_index`` a tuple of it and an
    ///         int32 Variable of the same shape, the positions ``row * width + column`` of the maxima.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 1, 4, 4))
    ///     >>> out = fluid.layers.adaptive_pool2d(image, pool_size=2, pool_type="avg")
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[2.5, 4.5], [10.5, 12.5]]]]
    "nn.adaptive_pool2d(input, pool_size, pool_type='max', require_index=False, name=None)"
        => |net, a| match a.bool("require_index")? {
        true => net.adaptive_max_pool2d(&a.var("input")?, a.spatial("pool_size")?).map(Made::from),
        false => net.adaptive_pool2d(&a.var("input")?, a.spatial("pool_size")?, &a.str("pool_type")?).map(Made::from),
    };

    /// Takes the maximum or the mean of each window of volumes, channel by channel.
    ///
    /// It is ``pool2d`` with one more dimension.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
    ///         ``NDHWC``.
    ///     pool_size (int, list or tuple): the window: ``[depth, height, width]``, or one number for all. It must be
    ///         given unless ``global_pooling`` is true.
    ///     pool_type (str): ``max``: the largest element; ``avg``: the mean.
    ///     pool_stride (int, list or tuple): the steps of the window: ``[depth, height, width]``, or one number for
    ///         all.
    ///     pool_padding (int, list, tuple or str): elements around the volume: one number, one per dimension, two per
    ///         dimension (front, back, top, bottom, left, right), ``"SAME"`` or ``"VALID"``. They never are a maximum.
    ///     global_pooling (bool): one window over the whole volume; ``pool_size`` and ``pool_padding`` are not used.
    ///     ceil_mode (bool): round the size of the result up instead of down: windows that reach over the border count,
    ///         too.
    ///     exclusive (bool): a mean does not count the padding.
    ///     data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
    ///         same format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, D, H, W]`` with
    ///         ``D = (depth - pool_size + 2 * pool_padding) // pool_stride + 1``, and ``H`` and ``W`` likewise.
    ///
    /// Raises:
    ///     ValueError: ``pool_type`` is unknown, or there is no ``pool_size``.
    ///
    /// Example:
    ///     >>> video = fluid.data("video", [None, 3, 12, 32, 32])
    ///     >>> fluid.layers.pool3d(video, pool_size=2, pool_type="avg", pool_stride=2).shape
    ///     (-1, 3, 6, 16, 16)
    "nn.pool3d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, \
     use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCDHW')"
        => |net, a| net.pool3d(&a.var("input")?, pool(a)?);

    /// Takes the maximum or the mean of windows of volumes that are chosen so that the result has the size
    /// ``pool_size``.
    ///
    /// Windows are chosen as in ``adaptive_pool2d``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``.
    ///     pool_size (int, list or tuple): the size of the result: ``[depth, height, width]``, or one number for all.
    ///     pool_type (str): ``max``: the largest element; ``avg``: the mean.
    ///     require_index (bool): also return the position of each maximum; only with ``max``.
    ///
    /// Returns:
    ///     Variable or tuple: a Variable ``[batch, channels, *pool_size]``; with ``require_index`` a tuple of it and an
    ///         int32 Variable of the same shape, the positions of the maxima in the flattened volume.
    ///
    /// Example:
    ///     >>> video = fluid.data("video", [None, 3, 12, 32, 32])
    ///     >>> fluid.layers.adaptive_pool3d(video, pool_size=[3, 4, 4], pool_type="avg").shape
    ///     (-1, 3, 3, 4, 4)
    "nn.adaptive_pool3d(input, pool_size, pool_type='max', require_index=False, name=None)"
        => |net, a| match a.bool("require_index")? {
        true => net.adaptive_max_pool3d(&a.var("input")?, a.spatial("pool_size")?).map(Made::from),
        false => net.adaptive_pool3d(&a.var("input")?, a.spatial("pool_size")?, &a.str("pool_type")?).map(Made::from),
    };
}

fn pool(a: &Args) -> Result<Pool> {
    Ok(Pool::size(a.spatial("pool_size")?)
        .pool_type(a.str("pool_type")?)
        .pool_stride(a.spatial("pool_stride")?)
        .pool_padding(a.padding("pool_padding")?)
        .global_pooling(a.bool("global_pooling")?)
        .ceil_mode(a.bool("ceil_mode")?)
        .exclusive(a.bool("exclusive")?)
        .data_format(a.layout("data_format")?))
}
