use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Adagrad(learning_rate, epsilon=1e-06, ..., initial_accumulator_value=0.0)`
    adagrad() -> Adagrad {
        /// Added to the root of the sum of squares.
        epsilon: f32 = 1e-6,
        /// Where the sum of squares starts.
        initial_accumulator_value: f64 = 0.0,
    }
}

impl Rule for Adagrad {
    fn op_type(&self) -> &'static str {
        "adagrad"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("moment", "Moment", "MomentOut").starting_at(self.initial_accumulator_value)]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("epsilon", self.epsilon.into())]
    }
}
