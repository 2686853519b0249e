//! Losses.

use oarlock::prelude::*;
use pyo3::PyResult;

use super::layers;
use crate::args::Args;
use crate::builder::Made;

fn entropy(a: &Args<'_>) -> PyResult<CrossEntropy> {
    Ok(CrossEntropy::new()
        .soft_label(a.bool("soft_label")?)
        .ignore_index(a.i32("ignore_index")?)
        .numeric_stable_mode(a.bool("numeric_stable_mode")?)
        .axis(a.i32("axis")?))
}

fn sampler(a: &Args<'_>) -> PyResult<Sampler> {
    match a.str("sampler")?.as_str() {
        "uniform" => Ok(Sampler::Uniform),
        "log_uniform" => Ok(Sampler::LogUniform),
        "custom_dist" => Ok(Sampler::CustomDist(a.f64s("custom_dist")?)),
        other => {
            let what = format!("`nce` samples by 'uniform', 'log_uniform' or 'custom_dist', not {other:?}");
            Err(pyo3::exceptions::PyValueError::new_err(what))
        }
    }
}

layers! {
    "softmax" => |net, a| net.softmax(&a.var("input")?, a.i32("axis")?);
    "log_softmax" => |net, a| net.log_softmax(&a.var("input")?, a.opt("axis", Args::i32)?.unwrap_or(-1));
    "cross_entropy" => |net, a| net.cross_entropy(&a.var("input")?, &a.var("label")?,
        CrossEntropy::new().soft_label(a.bool("soft_label")?).ignore_index(a.i32("ignore_index")?));
    "softmax_with_cross_entropy" => |net, a| match a.bool("return_softmax")? {
        true => {
            net.softmax_with_cross_entropy_and_softmax(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from)
        }
        false => net.softmax_with_cross_entropy(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from),
    };
    "sigmoid_cross_entropy_with_logits" => |net, a| net.sigmoid_cross_entropy_with_logits(&a.var("x")?, &a.var("label")?,
        a.opt("ignore_index", Args::i32)?, a.bool("normalize")?);
    "square_error_cost" => |net, a| net.square_error_cost(&a.var("input")?, &a.var("label")?);
    "mse_loss" => |net, a| net.mse_loss(&a.var("input")?, &a.var("label")?);
    "huber_loss" => |net, a| net.huber_loss(&a.var("input")?, &a.var("label")?, a.f32("delta")?);
    "log_loss" => |net, a| net.log_loss(&a.var("input")?, &a.var("label")?, a.f32("epsilon")?);
    "smooth_l1" => |net, a| {
        let weights = (a.opt_var("inside_weight")?, a.opt_var("outside_weight")?);
        let both = weights.0.as_ref().zip(weights.1.as_ref());
        net.smooth_l1(&a.var("x")?, &a.var("y")?, both, a.opt("sigma", Args::f32)?)
    };
    "bpr_loss" => |net, a| net.bpr_loss(&a.var("input")?, &a.var("label")?);
    "rank_loss" => |net, a| net.rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?);
    "margin_rank_loss" => |net, a| net.margin_rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?, a.f32("margin")?);
    "kldiv_loss" => |net, a| net.kldiv_loss(&a.var("x")?, &a.var("target")?, &a.str("reduction")?);
    "dice_loss" => |net, a| net.dice_loss(&a.var("input")?, &a.var("label")?, a.f64("epsilon")?);
    "npair_loss" => |net, a| net.npair_loss(&a.var("anchor")?, &a.var("positive")?, &a.var("labels")?, a.f64("l2_reg")?);
    "teacher_student_sigmoid_loss" => |net, a| net.teacher_student_sigmoid_loss(&a.var("input")?, &a.var("label")?,
        (a.f32("soft_max_lower_bound")?, a.f32("soft_max_up_bound")?));
    "label_smooth" => |net, a| net.label_smooth(&a.var("label")?, a.opt_var("prior_dist")?.as_ref(), a.f32("epsilon")?);
    "nce" => |net, a| net.nce(&a.var("input")?, &a.var("label")?, Nce::classes(a.usize("num_total_classes")?)
        .sample_weight(a.opt_var("sample_weight")?).param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?)
        .num_neg_samples(a.opt("num_neg_samples", Args::i32)?.unwrap_or(10)).sampler(sampler(a)?).seed(a.i32("seed")?)
        .is_sparse(a.bool("is_sparse")?));
    "hsigmoid" => |net, a| net.hsigmoid(&a.var("input")?, &a.var("label")?, Hsigmoid::classes(a.usize("num_classes")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?)
        .path(a.opt_var("path_table")?.zip(a.opt_var("path_code")?)).is_sparse(a.bool("is_sparse")?));
    "sampled_softmax_with_cross_entropy" => |net, a| net.sampled_softmax_with_cross_entropy(&a.var("logits")?,
        &a.var("label")?, SampledSoftmax::samples(a.i32("num_samples")?).num_true(a.i32("num_true")?)
        .remove_accidental_hits(a.bool("remove_accidental_hits")?)
        .customized(a.opt_var("customized_samples")?.zip(a.opt_var("customized_probabilities")?)).seed(a.i32("seed")?));
    "center_loss" => |net, a| net.center_loss(&a.var("input")?, &a.var("label")?, (a.usize("num_classes")?, a.f64("alpha")?),
        a.param("param_attr")?, a.bool("update_center")?);
    "linear_chain_crf" => |net, a| net.linear_chain_crf(&a.var("input")?, &a.var("label")?, a.param("param_attr")?,
        a.opt_var("length")?.as_ref());
    "crf_decoding" => |net, a| {
        let Some(transition) = a.param_attr("param_attr")?.name else {
        let what = "`crf_decoding` takes as `param_attr` the name of the transitions that `linear_chain_crf` learns";
        return Err(pyo3::exceptions::PyValueError::new_err(what));
    };
        net.crf_decoding(&a.var("input")?, &transition, a.opt_var("label")?.as_ref(), a.opt_var("length")?.as_ref())
    };
    "warpctc" => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        net.warpctc(&a.var("input")?, &a.var("label")?, a.i32("blank")?, a.bool("norm_by_times")?, both)
    };
    "ctc_greedy_decoder" => |net, a| match a.opt_var("input_length")? {
        None => net.ctc_greedy_decoder(&a.var("input")?, a.i32("blank")?).map(Made::from),
        Some(length) => {
            net.ctc_greedy_decoder_padded(&a.var("input")?, a.i32("blank")?, &length, a.i32("padding_value")?).map(Made::from)
        }
    };
    "edit_distance" => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        let ignored = a.opt("ignored_tokens", Args::i32s)?.unwrap_or_default();
        net.edit_distance(&a.var("input")?, &a.var("label")?, a.bool("normalized")?, &ignored, both)
    };
    "chunk_eval" => |net, a| net.chunk_eval(&a.var("input")?, &a.var("label")?,
        ChunkEval::scheme(a.str("chunk_scheme")?, a.i32("num_chunk_types")?)
        .excluded_chunk_types(a.opt("excluded_chunk_types", Args::i32s)?.unwrap_or_default())
        .seq_length(a.opt_var("seq_length")?)).map(|made| {
        let [infer, label, correct] = made.counts;
        let all = [made.precision, made.recall, made.f1_score, infer, label, correct];
        Made::Tuple(all.into_iter().map(Made::from).collect())
    });
}
