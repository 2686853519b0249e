use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Momentum(learning_rate, momentum, ..., use_nesterov=False, ...)`: `v = momentum * v + g; p -= rate * v`.
    momentum(momentum: f32) -> Momentum {
        /// Look ahead: `p -= rate * (g + momentum * v)`.
        use_nesterov: bool = false,
    }
}

impl Rule for Momentum {
    fn op_type(&self) -> &'static str {
        "momentum"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("velocity", "Velocity", "VelocityOut")]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("mu", self.momentum.into()), ("use_nesterov", self.use_nesterov.into())]
    }
}
