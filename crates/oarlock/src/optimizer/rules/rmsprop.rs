use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `RMSProp(learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, ...)`
    rmsprop() -> RmsProp {
        /// How much of the mean of squares stays.
        rho: f32 = 0.95,
        /// Added to the mean of squares.
        epsilon: f32 = 1e-6,
        /// How much of the last step stays.
        momentum: f32 = 0.0,
        /// Subtract the square of the mean.
        centered: bool = false,
    }
}

impl Rule for RmsProp {
    fn op_type(&self) -> &'static str {
        "rmsprop"
    }

    fn states(&self) -> Vec<State> {
        vec![
            State::like_param("momentum", "Moment", "MomentOut"),
            State::like_param("mean_square", "MeanSquare", "MeanSquareOut"),
            State::like_param("mean_grad", "MeanGrad", "MeanGradOut"),
        ]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("epsilon", self.epsilon.into()),
            ("decay", self.rho.into()),
            ("momentum", self.momentum.into()),
            ("centered", self.centered.into()),
        ]
    }
}
