//! Learning-rate schedules.

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "noam_decay(64,4000)" [] |net| net.noam_decay(64.0, 4000.0, 1.0);
        "exponential_decay(0.1,10,0.5,True)" [] |net| net.exponential_decay(0.1, 10.0, 0.5, true);
        "natural_exp_decay(0.1,10,0.5)" [] |net| net.natural_exp_decay(0.1, 10.0, 0.5, false);
        "inverse_time_decay(0.1,10,0.5)" [] |net| net.inverse_time_decay(0.1, 10.0, 0.5, false);
        "polynomial_decay(0.1,10)" [] |net| net.polynomial_decay(0.1, 10.0, 0.0001, 1.0, false);
        "piecewise_decay([10,20],[0.1,0.01,0.001])" [] |net| net.piecewise_decay(&[10.0, 20.0], &[0.1, 0.01, 0.001]);
        "cosine_decay(0.1,10,5)" [] |net| net.cosine_decay(0.1, 10.0, 5.0);
        "linear_lr_warmup(0.1,10,0.0,0.1)" [] |net| net.linear_lr_warmup(0.1, 10.0, 0.0, 0.1);
    }
}
