//! Adagrad that forgets.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `DecayedAdagrad(learning_rate, decay=0.95, epsilon=1e-06, ...)`
    decayed_adagrad() -> DecayedAdagrad {
        /// How much of the sum of squares stays.
        decay: f32 = 0.95,
        /// Added to the root of the sum of squares.
        epsilon: f32 = 1e-6,
    }
}

impl Rule for DecayedAdagrad {
    fn op_type(&self) -> &'static str {
        "decayed_adagrad"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("moment", "Moment", "MomentOut")]
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("decay", self.decay.into()), ("epsilon", self.epsilon.into())]
    }
}
