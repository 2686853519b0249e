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
}
