//! Learning-rate schedules.

use oarlock::lr::LearningRate;

use super::layers;

layers! {
    "noam_decay" => |net, a| net.noam_decay(a.f64("d_model")?, a.f64("warmup_steps")?, a.f64("learning_rate")?);
    "exponential_decay" => |net, a| net.exponential_decay(a.f64("learning_rate")?, a.f64("decay_steps")?, a.f64("decay_rate")?,
        a.bool("staircase")?);
    "natural_exp_decay" => |net, a| net.natural_exp_decay(a.f64("learning_rate")?, a.f64("decay_steps")?, a.f64("decay_rate")?,
        a.bool("staircase")?);
    "inverse_time_decay" => |net, a| net.inverse_time_decay(a.f64("learning_rate")?, a.f64("decay_steps")?,
        a.f64("decay_rate")?, a.bool("staircase")?);
    "polynomial_decay" => |net, a| net.polynomial_decay(a.f64("learning_rate")?, a.f64("decay_steps")?,
        a.f64("end_learning_rate")?, a.f64("power")?, a.bool("cycle")?);
    "piecewise_decay" => |net, a| net.piecewise_decay(&a.f64s("boundaries")?, &a.f64s("values")?);
    "cosine_decay" => |net, a| net.cosine_decay(a.f64("learning_rate")?, a.f64("step_each_epoch")?, a.f64("epochs")?);
    "linear_lr_warmup" => |net, a| {
        let rate = match a.is_var("learning_rate")? {
            true => LearningRate::Var(a.var("learning_rate")?),
            false => LearningRate::Value(a.f64("learning_rate")?),
        };
        net.linear_lr_warmup(rate, a.f64("warmup_steps")?, a.f64("start_lr")?, a.f64("end_lr")?)
    };
}
