//! Adadelta.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Adadelta(learning_rate, epsilon=1e-06, rho=0.95, ...)`: finds its own step; the learning rate is not used.
    adadelta() -> Adadelta {
        /// Added to both means of squares.
        epsilon: f32 = 1e-6,
        /// How much of them stays.
        rho: f32 = 0.95,
    }
}

declare! {
    /// Adadelta: steps scaled by running means of squared gradients and of squared updates.
    ///
    /// Args:
    ///     epsilon (float): keeps the division finite.
    ///     rho (float): how much of both means stays from step to step.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Adadelta(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    adadelta: "AdadeltaOptimizer(learning_rate, epsilon=1e-06, rho=0.95, parameter_list=None, regularization=None, \
     grad_clip=None, name=None)"
        => |a| Adadelta { epsilon: a.f32("epsilon")?, rho: a.f32("rho")? }
}

impl Rule for Adadelta {
    fn op_type(&self) -> &'static str {
        "adadelta"
    }

    fn states(&self) -> Vec<State> {
        vec![
            State::like_param("_avg_squared_grad", "AvgSquaredGrad", "AvgSquaredGradOut"),
            State::like_param("_avg_squared_update", "AvgSquaredUpdate", "AvgSquaredUpdateOut"),
        ]
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("epsilon", self.epsilon.into()), ("rho", self.rho.into())]
    }

    fn reads_rate(&self) -> bool {
        false
    }
}
