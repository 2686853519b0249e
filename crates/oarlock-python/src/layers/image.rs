//! Convolution, pooling, normalisation.

use oarlock::layers::{Layout, Padding};
use oarlock::prelude::*;
use pyo3::PyResult;

use super::layers;
use crate::args::Args;
use crate::builder::Made;
use crate::error::IntoPy;

/// A number, numbers per side, or a word.
fn padding(a: &Args<'_>, name: &str) -> PyResult<Padding> {
    match a.word(name)? {
        Some(word) => Padding::parse(&word).py(),
        None => a.flat_i32s(name).map(Padding::from),
    }
}

fn layout(a: &Args<'_>, name: &str) -> PyResult<Layout> {
    Layout::parse(&a.str(name)?).py()
}

fn conv(a: &Args<'_>) -> PyResult<Conv> {
    Ok(Conv::new(a.usize("num_filters")?, a.spatial("filter_size")?)
        .stride(a.spatial("stride")?)
        .padding(padding(a, "padding")?)
        .dilation(a.spatial("dilation")?)
        .groups(a.opt("groups", Args::usize)?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_cudnn(a.bool("use_cudnn")?)
        .act(a.act("act")?)
        .data_format(layout(a, "data_format")?))
}

fn conv_transpose(a: &Args<'_>) -> PyResult<ConvTranspose> {
    Ok(ConvTranspose::new(a.usize("num_filters")?)
        .output_size(a.opt("output_size", Args::spatial)?)
        .filter_size(a.opt("filter_size", Args::spatial)?)
        .padding(padding(a, "padding")?)
        .stride(a.spatial("stride")?)
        .dilation(a.spatial("dilation")?)
        .groups(a.opt("groups", Args::usize)?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_cudnn(a.bool("use_cudnn")?)
        .act(a.act("act")?)
        .data_format(layout(a, "data_format")?))
}

fn resize(a: &Args<'_>) -> PyResult<Resize> {
    Ok(Resize::new()
        .out_shape(a.opt("out_shape", Args::ints)?)
        .scale(a.opt("scale", Args::operand)?)
        .actual_shape(a.opt_var("actual_shape")?)
        .align_corners(a.bool("align_corners")?)
        .align_mode(a.opt("align_mode", Args::i32)?.unwrap_or(1))
        .data_format(layout(a, "data_format")?))
}

/// Paddings above, left, below and right: one number, two for the axes, or all four.
fn around(a: &Args<'_>, name: &str) -> PyResult<[i32; 4]> {
    match a.i32s(name)?[..] {
        [all] => Ok([all; 4]),
        [y, x] => Ok([y, x, y, x]),
        _ => a.array(name),
    }
}

fn pool(a: &Args<'_>) -> PyResult<Pool> {
    Ok(Pool::size(a.spatial("pool_size")?)
        .pool_type(a.str("pool_type")?)
        .pool_stride(a.spatial("pool_stride")?)
        .pool_padding(padding(a, "pool_padding")?)
        .global_pooling(a.bool("global_pooling")?)
        .ceil_mode(a.bool("ceil_mode")?)
        .exclusive(a.bool("exclusive")?)
        .data_format(layout(a, "data_format")?))
}

fn batch_norm(a: &Args<'_>) -> PyResult<BatchNorm> {
    Ok(BatchNorm::new()
        .act(a.act("act")?)
        .is_test(a.bool("is_test")?)
        .momentum(a.f32("momentum")?)
        .epsilon(a.f32("epsilon")?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .data_layout(layout(a, "data_layout")?)
        .in_place(a.bool("in_place")?)
        .moving_mean_name(a.opt_str("moving_mean_name")?)
        .moving_variance_name(a.opt_str("moving_variance_name")?)
        .do_model_average_for_mean_and_var(a.bool("do_model_average_for_mean_and_var")?)
        .use_global_stats(a.bool("use_global_stats")?))
}

layers! {
    "conv2d" => |net, a| net.conv2d(&a.var("input")?, conv(a)?);
    "pool2d" => |net, a| net.pool2d(&a.var("input")?, pool(a)?);
    "adaptive_pool2d" => |net, a| match a.bool("require_index")? {
        true => net.adaptive_max_pool2d(&a.var("input")?, a.spatial("pool_size")?).map(Made::from),
        false => net.adaptive_pool2d(&a.var("input")?, a.spatial("pool_size")?, &a.str("pool_type")?).map(Made::from),
    };
    "batch_norm" => |net, a| net.batch_norm(&a.var("input")?, batch_norm(a)?);
    "layer_norm" => |net, a| net.layer_norm(&a.var("input")?, LayerNorm::new().scale(a.bool("scale")?)
        .shift(a.bool("shift")?).begin_norm_axis(a.usize("begin_norm_axis")?).epsilon(a.f32("epsilon")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?).act(a.act("act")?));
    "data_norm" => |net, a| net.data_norm(&a.var("input")?, DataNorm::new().act(a.act("act")?).epsilon(a.f32("epsilon")?)
        .slot_dim(a.i32("slot_dim")?).sync_stats(a.bool("sync_stats")?).summary_decay_rate(a.f32("summary_decay_rate")?));
    "l2_normalize" => |net, a| net.l2_normalize(&a.var("x")?, a.i32("axis")?, a.f32("epsilon")?);
    "dropout" => |net, a| net.dropout(&a.var("x")?, Dropout::prob(a.f32("dropout_prob")?).is_test(a.bool("is_test")?)
        .seed(a.opt("seed", Args::i32)?).dropout_implementation(a.str("dropout_implementation")?));
    "conv3d" => |net, a| net.conv3d(&a.var("input")?, conv(a)?);
    "conv2d_transpose" => |net, a| net.conv2d_transpose(&a.var("input")?, conv_transpose(a)?);
    "conv3d_transpose" => |net, a| net.conv3d_transpose(&a.var("input")?, conv_transpose(a)?);
    "pool3d" => |net, a| net.pool3d(&a.var("input")?, pool(a)?);
    "adaptive_pool3d" => |net, a| match a.bool("require_index")? {
        true => net.adaptive_max_pool3d(&a.var("input")?, a.spatial("pool_size")?).map(Made::from),
        false => net.adaptive_pool3d(&a.var("input")?, a.spatial("pool_size")?, &a.str("pool_type")?).map(Made::from),
    };
    "group_norm" => |net, a| net.group_norm(&a.var("input")?, GroupNorm::groups(a.i32("groups")?)
        .epsilon(a.f32("epsilon")?).param_attr(a.param_or_none("param_attr")?).bias_attr(a.param_or_none("bias_attr")?)
        .act(a.act("act")?).data_layout(layout(a, "data_layout")?));
    "instance_norm" => |net, a| net.instance_norm(&a.var("input")?, a.f32("epsilon")?, a.param("param_attr")?,
        a.param("bias_attr")?);
    "spectral_norm" => |net, a| net.spectral_norm(&a.var("weight")?, a.usize("dim")?, a.i32("power_iters")?, a.f32("eps")?);
    "lrn" => |net, a| net.lrn(&a.var("input")?, a.i32("n")?, a.f32("k")?, a.f32("alpha")?, a.f32("beta")?);
    "affine_channel" => |net, a| net.affine_channel(&a.var("x")?, &a.var("scale")?, &a.var("bias")?, a.act("act")?);
    "image_resize" => |net, a| net.image_resize(&a.var("input")?, &a.str("resample")?, resize(a)?);
    "image_resize_short" => |net, a| net.image_resize_short(&a.var("input")?, a.usize("out_short_len")?, &a.str("resample")?);
    "resize_bilinear" => |net, a| net.resize_bilinear(&a.var("input")?, resize(a)?);
    "resize_nearest" => |net, a| net.resize_nearest(&a.var("input")?, resize(a)?);
    "resize_trilinear" => |net, a| net.resize_trilinear(&a.var("input")?, resize(a)?);
    "pad2d" => |net, a| net.pad2d(&a.var("input")?, Pad2d::by(a.ints("paddings")?).mode(a.str("mode")?)
        .pad_value(a.f32("pad_value")?).data_format(layout(a, "data_format")?));
    "unfold" => |net, a| net.unfold(&a.var("x")?, a.spatial("kernel_sizes")?, a.spatial("strides")?, a.spatial("paddings")?,
        a.spatial("dilations")?);
    "pixel_shuffle" => |net, a| net.pixel_shuffle(&a.var("x")?, a.i32("upscale_factor")?);
    "space_to_depth" => |net, a| net.space_to_depth(&a.var("x")?, a.i64("blocksize")?);
    "shuffle_channel" => |net, a| net.shuffle_channel(&a.var("x")?, a.i32("group")?);
    "temporal_shift" => |net, a| net.temporal_shift(&a.var("x")?, a.i32("seg_num")?, a.f32("shift_ratio")?);
    "similarity_focus" => |net, a| net.similarity_focus(&a.var("input")?, a.i32("axis")?, &a.i32s("indexes")?);
    "affine_grid" => |net, a| net.affine_grid(&a.var("theta")?, a.ints("out_shape")?);
    "grid_sampler" => |net, a| net.grid_sampler(&a.var("x")?, &a.var("grid")?);
    "crop" => |net, a| net.crop(&a.var("x")?, &a.i32s("shape")?, &a.opt("offsets", Args::i32s)?.unwrap_or_default());
    "crop_tensor" => |net, a| {
        let shape = a.ints("shape")?;
        let none = Ints::Known(vec![0; net.shape(&a.var("x")?).py()?.rank()]);
        net.crop_tensor(&a.var("x")?, shape, a.opt("offsets", Args::ints)?.unwrap_or(none))
    };
    "im2sequence" => |net, a| net.im2sequence(&a.var("input")?, Im2Sequence::filter(a.pair("filter_size")?)
        .stride(a.pair("stride")?).padding(around(a, "padding")?).input_image_size(a.opt_var("input_image_size")?)
        .out_stride(a.pair("out_stride")?));
}
