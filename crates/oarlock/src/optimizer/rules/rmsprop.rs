//! RMSProp.

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

declare! {
    /// RMSProp: ``s = rho * s + (1 - rho) * g * g``, ``v = momentum * v + rate * g / sqrt(s + epsilon)``, ``p -= v``.
    ///
    /// Args:
    ///     rho (float): how much of the mean of squares stays from step to step.
    ///     epsilon (float): keeps the division finite.
    ///     momentum (float): how much of the velocity ``v`` stays.
    ///     centered (bool): subtract the squared mean of gradients from ``s``: divide by their standard deviation.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.RMSProp(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    rmsprop: "RMSPropOptimizer(learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, \
     parameter_list=None, regularization=None, grad_clip=None, name=None)"
        => |a| RmsProp { rho: a.f32("rho")?, epsilon: a.f32("epsilon")?, momentum: a.f32("momentum")?, centered: a.bool("centered")? }
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
