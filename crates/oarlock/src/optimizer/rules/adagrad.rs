//! Adagrad.

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

declare! {
    /// Adagrad: ``s += g * g``, ``p -= rate * g / (sqrt(s) + epsilon)``.
    ///
    /// Args:
    ///     epsilon (float): keeps the division finite.
    ///     initial_accumulator_value (float): the first value of ``s``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Adagrad(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    adagrad: "AdagradOptimizer(learning_rate, epsilon=1e-06, parameter_list=None, regularization=None, \
     grad_clip=None, name=None, initial_accumulator_value=0.0)"
        => |a| Adagrad { epsilon: a.f32("epsilon")?, initial_accumulator_value: a.f64("initial_accumulator_value")? }
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
