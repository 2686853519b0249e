use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Ftrl(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, ...)`
    ///
    /// Fluid 1.8 passed `l1` where `l2` belongs; here `l2` is `l2`.
    ftrl() -> Ftrl {
        /// Pulls weights to exactly zero.
        l1: f32 = 0.0,
        /// Pulls weights towards zero.
        l2: f32 = 0.0,
        /// The power of the sum of squares by which the rate falls.
        lr_power: f32 = -0.5,
    }
}

impl Rule for Ftrl {
    fn op_type(&self) -> &'static str {
        "ftrl"
    }

    fn states(&self) -> Vec<State> {
        vec![
            State::like_param("squared", "SquaredAccumulator", "SquaredAccumOut"),
            State::like_param("linear", "LinearAccumulator", "LinearAccumOut"),
        ]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("l1", self.l1.into()), ("l2", self.l2.into()), ("lr_power", self.lr_power.into())]
    }
}
