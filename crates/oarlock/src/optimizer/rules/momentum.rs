//! Gradient descent with momentum.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Momentum(learning_rate, momentum, ..., use_nesterov=False, ...)`: `v = momentum * v + g; p -= rate * v`.
    momentum(momentum: f32) -> Momentum {
        /// Look ahead: `p -= rate * (g + momentum * v)`.
        use_nesterov: bool = false,
    }
}

declare! {
    /// Gradient descent with momentum: ``v = momentum * v + g``, ``p -= rate * v``.
    ///
    /// Args:
    ///     momentum (float): how much of the velocity ``v`` stays from step to step.
    ///     use_nesterov (bool): look ahead: ``p -= rate * (g + momentum * v)``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Momentum(0.001, 0.9).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    momentum: "MomentumOptimizer(learning_rate, momentum, parameter_list=None, use_nesterov=False, \
     regularization=None, grad_clip=None, name=None)"
        => |a| Momentum { momentum: a.f32("momentum")?, use_nesterov: a.bool("use_nesterov")? }
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
