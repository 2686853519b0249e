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
    /// Maxima or averages over windows of images.
    ///
    /// Args:
    ///     input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
    ///     pool_size (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
    ///     pool_type (str): ``max`` or ``avg``.
    ///     pool_stride (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
    ///     pool_padding (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
    ///     global_pooling (bool): one window over the whole image.
    ///     ceil_mode (bool): windows that reach over the border count, too.
    ///     exclusive (bool): an average leaves padding out.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, H, W]``.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 16, 32, 32])
    ///     >>> fluid.layers.pool2d(image, 2, "max", pool_stride=2).shape
    ///     (-1, 16, 16, 16)
    "nn.pool2d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, \
     use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCHW')"
        => |net, a| net.pool2d(&a.var("input")?, pool(a)?);

    /// Pooling whose windows are chosen so that the result has size ``pool_size``; ``require_index`` also returns where
    /// maxima were.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     pool_size (int or list): sizes of the result: one number for all dimensions, or one each.
    ///     pool_type (str): ``max`` or ``avg``.
    ///     require_index (bool): return the positions of the maxima, too; only for ``max``.
    "nn.adaptive_pool2d(input, pool_size, pool_type='max', require_index=False, name=None)"
        => |net, a| match a.bool("require_index")? {
        true => net.adaptive_max_pool2d(&a.var("input")?, a.spatial("pool_size")?).map(Made::from),
        false => net.adaptive_pool2d(&a.var("input")?, a.spatial("pool_size")?, &a.str("pool_type")?).map(Made::from),
    };

    /// Maxima or averages over windows of ``[batch, channels, depth, height, width]``; arguments as in `pool2d`.
    ///
    /// Args:
    ///     input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
    ///     pool_size (int or list): size of the window.
    ///     pool_type (str): `max` or `avg`.
    ///     pool_stride (int or list): steps of the window.
    ///     pool_padding (int, list or str): rows and columns around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
    ///     global_pooling (bool): one window over the whole image.
    ///     ceil_mode (bool): count a window that is not full as well.
    ///     exclusive (bool): an average does not count what was added around.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.pool3d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, \
     use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCDHW')"
        => |net, a| net.pool3d(&a.var("input")?, pool(a)?);

    /// `adaptive_pool2d` of volumes ``[batch, channels, depth, height, width]``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     pool_size (int or list): sizes of the result: one number for all dimensions, or one each.
    ///     pool_type (str): ``max`` or ``avg``.
    ///     require_index (bool): return the positions of the maxima, too; only for ``max``.
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
