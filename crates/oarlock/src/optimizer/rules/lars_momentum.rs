//! LARS: momentum with a rate for each parameter.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `LarsMomentum(learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, ...)`: a rate for each parameter, by the
    /// sizes of weights and gradients.
    lars_momentum(momentum: f32) -> LarsMomentum {
        /// How much a parameter may move, relative to its size.
        lars_coeff: f32 = 0.001,
        /// Weight decay.
        lars_weight_decay: f32 = 0.0005,
    }
}

impl Rule for LarsMomentum {
    fn op_type(&self) -> &'static str {
        "lars_momentum"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("velocity", "Velocity", "VelocityOut")]
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("mu", self.momentum.into()),
            ("lars_coeff", self.lars_coeff.into()),
            ("lars_weight_decay", self.lars_weight_decay.into()),
        ]
    }
}
