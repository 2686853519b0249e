//! Adam.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, ..., lazy_mode=False)`
    adam() -> Adam {
        /// How much of the mean of gradients stays.
        beta1: f64 = 0.9,
        /// How much of the mean of squares stays.
        beta2: f64 = 0.999,
        /// Added to the root of the mean of squares.
        epsilon: f32 = 1e-8,
        /// Rows that have no gradient in a step stay as they are.
        lazy_mode: bool = false,
    }
}

/// The state of Adam and Lamb; Lamb has the powers of 1.8, but does not use or advance them.
pub(super) fn states(beta1: f64, beta2: f64, writes_powers: bool) -> Vec<State> {
    let out = |slot| writes_powers.then_some(slot);
    vec![
        State::like_param("moment1", "Moment1", "Moment1Out"),
        State::like_param("moment2", "Moment2", "Moment2Out"),
        State::one("beta1_pow_acc", "Beta1Pow", out("Beta1PowOut"), beta1),
        State::one("beta2_pow_acc", "Beta2Pow", out("Beta2PowOut"), beta2),
    ]
}

impl Rule for Adam {
    fn op_type(&self) -> &'static str {
        "adam"
    }

    fn states(&self) -> Vec<State> {
        states(self.beta1, self.beta2, true)
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("beta1", (self.beta1 as f32).into()),
            ("beta2", (self.beta2 as f32).into()),
            ("epsilon", self.epsilon.into()),
            ("lazy_mode", self.lazy_mode.into()),
            // A hint to 1.8: from how many rows on to use threads.
            ("min_row_size_to_use_multithread", 1000i64.into()),
        ]
    }
}
