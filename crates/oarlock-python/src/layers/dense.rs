//! Dense layers, activations, elementwise arithmetic, reductions, comparisons, metrics.

use oarlock::layers::{Compare, Entry};
use oarlock::prelude::*;
use oarlock::tensor::table::Retention;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use super::{layers, refs};
use crate::args::Args;
use crate::builder::Made;
use crate::error::raise;

fn elementwise(a: &Args<'_>) -> PyResult<Elementwise> {
    Ok(Elementwise::new().axis(a.i32("axis")?).act(a.act("act")?))
}

fn embedding(a: &Args<'_>) -> PyResult<Embedding> {
    let size = a.sizes("size")?;
    let [rows, width] = size[..] else {
        return Err(PyValueError::new_err(format!("`embedding` takes [rows, width] as `size`, not {size:?}")));
    };
    Ok(Embedding::size(rows, width)
        .is_sparse(a.bool("is_sparse")?)
        .is_distributed(a.bool("is_distributed")?)
        .padding_idx(a.opt("padding_idx", Args::i64)?)
        .entry(Entry::parse(&a.opt("entry", Args::str)?.unwrap_or_default()).map_err(raise)?)
        .evict(Retention::parse(&a.opt("evict", Args::str)?.unwrap_or_default()).map_err(PyValueError::new_err)?)
        .param_attr(a.param("param_attr")?)
        .dtype(a.dtype("dtype")?))
}

fn reduce(a: &Args<'_>) -> PyResult<Reduce> {
    Ok(Reduce::all().dim(a.opt("dim", Args::i32s)?).keep_dim(a.bool("keep_dim")?))
}

/// The result goes into the variable of this argument, if there is one.
fn into(a: &Args<'_>, name: &str) -> PyResult<Compare> {
    Ok(Compare::new().cond(a.opt_var(name)?))
}

fn detection_map(a: &Args<'_>) -> PyResult<DetectionMap> {
    let state = match (a.opt_var("has_state")?, a.opt("input_states", Args::vars)?) {
        (Some(has_state), Some(counts)) => match <[VarRef; 3]>::try_from(counts) {
            Ok(counts) => Some(MapState { has_state, counts }),
            Err(_) => return Err(PyValueError::new_err("input_states of detection_map are three Variables")),
        },
        _ => None,
    };
    Ok(DetectionMap::classes(a.i32("class_num")?)
        .background_label(a.i32("background_label")?)
        .overlap_threshold(a.f32("overlap_threshold")?)
        .evaluate_difficult(a.bool("evaluate_difficult")?)
        .ap_version(a.str("ap_version")?)
        .state(state))
}

layers! {
    "relu" => |net, a| net.relu(&a.var("x")?);
    "sigmoid" => |net, a| net.sigmoid(&a.var("x")?);
    "logsigmoid" => |net, a| net.logsigmoid(&a.var("x")?);
    "tanh" => |net, a| net.tanh(&a.var("x")?);
    "tanh_shrink" => |net, a| net.tanh_shrink(&a.var("x")?);
    "exp" => |net, a| net.exp(&a.var("x")?);
    "log" => |net, a| net.log(&a.var("x")?);
    "sqrt" => |net, a| net.sqrt(&a.var("x")?);
    "rsqrt" => |net, a| net.rsqrt(&a.var("x")?);
    "square" => |net, a| net.square(&a.var("x")?);
    "abs" => |net, a| net.abs(&a.var("x")?);
    "ceil" => |net, a| net.ceil(&a.var("x")?);
    "floor" => |net, a| net.floor(&a.var("x")?);
    "round" => |net, a| net.round(&a.var("x")?);
    "reciprocal" => |net, a| net.reciprocal(&a.var("x")?);
    "softplus" => |net, a| net.softplus(&a.var("x")?);
    "softsign" => |net, a| net.softsign(&a.var("x")?);
    "sin" => |net, a| net.sin(&a.var("x")?);
    "cos" => |net, a| net.cos(&a.var("x")?);
    "acos" => |net, a| net.acos(&a.var("x")?);
    "asin" => |net, a| net.asin(&a.var("x")?);
    "atan" => |net, a| net.atan(&a.var("x")?);
    "erf" => |net, a| net.erf(&a.var("x")?);
    "sign" => |net, a| net.sign(&a.var("x")?);
    "log1p" => |net, a| net.log1p(&a.var("x")?);
    "elementwise_add" => |net, a| net.elementwise_add(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_sub" => |net, a| net.elementwise_sub(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_mul" => |net, a| net.elementwise_mul(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_div" => |net, a| net.elementwise_div(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_max" => |net, a| net.elementwise_max(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_min" => |net, a| net.elementwise_min(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_pow" => |net, a| net.elementwise_pow(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_mod" => |net, a| net.elementwise_mod(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "elementwise_floordiv" => |net, a| net.elementwise_floordiv(&a.var("x")?, &a.var("y")?, elementwise(a)?);
    "reduce_sum" => |net, a| net.reduce_sum(&a.var("input")?, reduce(a)?);
    "reduce_mean" => |net, a| net.reduce_mean(&a.var("input")?, reduce(a)?);
    "reduce_max" => |net, a| net.reduce_max(&a.var("input")?, reduce(a)?);
    "reduce_min" => |net, a| net.reduce_min(&a.var("input")?, reduce(a)?);
    "reduce_prod" => |net, a| net.reduce_prod(&a.var("input")?, reduce(a)?);
    "reduce_all" => |net, a| net.reduce_all(&a.var("input")?, reduce(a)?);
    "reduce_any" => |net, a| net.reduce_any(&a.var("input")?, reduce(a)?);
    "less_than" => |net, a| net.less_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "less_equal" => |net, a| net.less_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "greater_than" => |net, a| net.greater_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "greater_equal" => |net, a| net.greater_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "equal" => |net, a| net.equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "not_equal" => |net, a| net.not_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);
    "logical_and" => |net, a| net.logical_and(&a.var("x")?, &a.var("y")?, into(a, "out")?);
    "logical_or" => |net, a| net.logical_or(&a.var("x")?, &a.var("y")?, into(a, "out")?);
    "logical_xor" => |net, a| net.logical_xor(&a.var("x")?, &a.var("y")?, into(a, "out")?);
    "logical_not" => |net, a| net.logical_not(&a.var("x")?, into(a, "out")?);
    "is_empty" => |net, a| net.is_empty(&a.var("x")?, into(a, "cond")?);
    "_add" => |net, a| net.add(&a.var("x")?, a.operand("y")?);
    "_sub" => |net, a| net.sub(&a.var("x")?, a.operand("y")?);
    "_mul" => |net, a| net.times(&a.var("x")?, a.operand("y")?);
    "_div" => |net, a| net.div(&a.var("x")?, a.operand("y")?);
    "_pow" => |net, a| net.power(&a.var("x")?, a.operand("y")?);
    "_floordiv" => |net, a| net.floor_div(&a.var("x")?, a.operand("y")?);
    "_mod" => |net, a| net.rem(&a.var("x")?, a.operand("y")?);
    "_eq" => |net, a| net.eq(&a.var("x")?, a.operand("y")?);
    "_ne" => |net, a| net.ne(&a.var("x")?, a.operand("y")?);
    "_lt" => |net, a| net.lt(&a.var("x")?, a.operand("y")?);
    "_le" => |net, a| net.le(&a.var("x")?, a.operand("y")?);
    "_gt" => |net, a| net.gt(&a.var("x")?, a.operand("y")?);
    "_ge" => |net, a| net.ge(&a.var("x")?, a.operand("y")?);
    "_rsub" => |net, a| net.rsub(a.f64("y")?, &a.var("x")?);
    "_rdiv" => |net, a| net.rdiv(a.f64("y")?, &a.var("x")?);
    "_rpow" => |net, a| net.rpow(a.f64("y")?, &a.var("x")?);
    "_neg" => |net, a| net.neg(&a.var("x")?);
    "_astype" => |net, a| net.astype(&a.var("x")?, a.dtype("dtype")?);
    "fc" => |net, a| net.fc_of(&refs(&a.vars("input")?), Fc::size(a.usize("size")?)
        .num_flatten_dims(a.usize("num_flatten_dims")?).param_attr(a.param_unless_list("param_attr")?)
    .param_attrs(a.param_list("param_attr")?).bias_attr(a.param("bias_attr")?)
        .act(a.act("act")?));
    "embedding" => |net, a| net.embedding(&a.var("input")?, embedding(a)?);
    "fluid.embedding" => |net, a| net.embedding_v2(&a.var("input")?, embedding(a)?);
    "one_hot" => |net, a| net.one_hot(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);
    "fluid.one_hot" => |net, a| net.one_hot_v2(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);
    "mul" => |net, a| net.mul(&a.var("x")?, &a.var("y")?, a.i32("x_num_col_dims")?, a.i32("y_num_col_dims")?);
    "matmul" => |net, a| net.matmul(&a.var("x")?, &a.var("y")?, MatMul::new().transpose_x(a.bool("transpose_x")?)
        .transpose_y(a.bool("transpose_y")?).alpha(a.f32("alpha")?));
    "bilinear_tensor_product" => |net, a| net.bilinear_tensor_product(&a.var("x")?, &a.var("y")?, a.usize("size")?,
        a.act("act")?, a.param("param_attr")?, a.param("bias_attr")?);
    "cos_sim" => |net, a| net.cos_sim(&a.var("X")?, &a.var("Y")?);
    "fsp_matrix" => |net, a| net.fsp_matrix(&a.var("x")?, &a.var("y")?);
    "addmm" => |net, a| net.addmm(&a.var("input")?, &a.var("x")?, &a.var("y")?, a.f32("alpha")?, a.f32("beta")?);
    "bmm" => |net, a| net.bmm(&a.var("x")?, &a.var("y")?);
    "dot" => |net, a| net.dot(&a.var("x")?, &a.var("y")?);
    "kron" => |net, a| net.kron(&a.var("x")?, &a.var("y")?);
    "relu6" => |net, a| net.relu6(&a.var("x")?, a.f32("threshold")?);
    "leaky_relu" => |net, a| net.leaky_relu(&a.var("x")?, a.f32("alpha")?);
    "elu" => |net, a| net.elu(&a.var("x")?, a.f32("alpha")?);
    "gelu" => |net, a| net.gelu(&a.var("x")?, a.bool("approximate")?);
    "swish" => |net, a| net.swish(&a.var("x")?, a.f32("beta")?);
    "hard_sigmoid" => |net, a| net.hard_sigmoid(&a.var("x")?, a.f32("slope")?, a.f32("offset")?);
    "hard_swish" => |net, a| net.hard_swish(&a.var("x")?, a.f32("threshold")?, a.f32("scale")?, a.f32("offset")?);
    "brelu" => |net, a| net.brelu(&a.var("x")?, a.f32("t_min")?, a.f32("t_max")?);
    "stanh" => |net, a| net.stanh(&a.var("x")?, a.f32("scale_a")?, a.f32("scale_b")?);
    "pow" => |net, a| match a.is_var("factor")? {
        true => net.pow_var(&a.var("x")?, &a.var("factor")?),
        false => net.pow(&a.var("x")?, a.f32("factor")?),
    };
    "selu" => |net, a| net.selu(&a.var("x")?, a.opt("scale", Args::f32)?, a.opt("alpha", Args::f32)?);
    "soft_relu" => |net, a| net.soft_relu(&a.var("x")?, a.f32("threshold")?);
    "softshrink" => |net, a| net.softshrink(&a.var("x")?, a.opt("alpha", Args::f32)?);
    "hard_shrink" => |net, a| net.hard_shrink(&a.var("x")?, a.opt("threshold", Args::f32)?);
    "thresholded_relu" => |net, a| net.thresholded_relu(&a.var("x")?, a.opt("threshold", Args::f32)?);
    "mish" => |net, a| net.mish(&a.var("x")?, a.f32("threshold")?);
    "clip" => |net, a| net.clip(&a.var("x")?, a.f32("min")?, a.f32("max")?);
    "clip_by_norm" => |net, a| net.clip_by_norm(&a.var("x")?, a.f32("max_norm")?);
    "scale" => |net, a| net.scale(&a.var("x")?, Scale::by(a.operand("scale")?).bias(a.f32("bias")?)
        .bias_after_scale(a.bool("bias_after_scale")?).act(a.act("act")?));
    "prelu" => |net, a| net.prelu(&a.var("x")?, &a.str("mode")?, a.param("param_attr")?);
    "maxout" => |net, a| net.maxout(&a.var("x")?, a.i32("groups")?, a.i32("axis")?);
    "sum" => |net, a| net.sum(&refs(&a.vars("x")?));
    "sums" => |net, a| match a.opt_var("out")? {
        Some(out) => net.sums_into(&refs(&a.vars("input")?), &out).map(|()| out),
        None => net.sum(&refs(&a.vars("input")?)),
    };
    "mean" => |net, a| net.mean(&a.var("x")?);
    "isfinite" => |net, a| net.isfinite(&a.var("x")?);
    "has_inf" => |net, a| net.has_inf(&a.var("x")?);
    "has_nan" => |net, a| net.has_nan(&a.var("x")?);
    "accuracy" => |net, a| net.accuracy_with(&a.var("input")?, &a.var("label")?, a.i32("k")?,
        Hits { correct: a.opt_var("correct")?, total: a.opt_var("total")? });
    "detection_map" => |net, a| net.detection_map(&a.var("detect_res")?, &a.var("label")?, detection_map(a)?);
    "_detection_map_metric" => |net, a| {
        let (label, sides, difficult) = (a.var("gt_label")?, a.var("gt_box")?, a.opt_var("gt_difficult")?);
        let truth = Truth { label: &label, sides: &sides, difficult: difficult.as_ref() };
        net.detection_map_metric(&a.var("input")?, truth, detection_map(a)?).map(|made| (made.batch, made.all, made.has_state))
    };
    "auc" => |net, a| net.auc(&a.var("input")?, &a.var("label")?, Auc::new().curve(a.str("curve")?)
        .num_thresholds(a.i32("num_thresholds")?).slide_steps(a.i32("slide_steps")?)).map(|made| {
        Made::Tuple(vec![made.auc.into(), made.batch_auc.into(), made.stats.to_vec().into()])
    });
    "mean_iou" => |net, a| net.mean_iou(&a.var("input")?, &a.var("label")?, a.i32("num_classes")?);
}
