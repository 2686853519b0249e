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
}
