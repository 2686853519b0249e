//! Pooling of images and volumes.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::conv::{Layout, Padding, Spatial};
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
