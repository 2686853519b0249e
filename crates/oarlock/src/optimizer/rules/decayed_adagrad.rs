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

declare! {
    /// Adagrad with a decaying sum: ``s = decay * s + (1 - decay) * g * g``, ``p -= rate * g / (sqrt(s) + epsilon)``.
    ///
    /// Args:
    ///     decay (float): how much of the sum stays from step to step.
    ///     epsilon (float): keeps the division finite.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.DecayedAdagrad(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    decayed_adagrad: "DecayedAdagradOptimizer(learning_rate, decay=0.95, epsilon=1e-06, parameter_list=None, \
     regularization=None, grad_clip=None, name=None)"
        => |a| DecayedAdagrad { decay: a.f32("decay")?, epsilon: a.f32("epsilon")? }
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
