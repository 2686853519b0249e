//! Adam.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, ..., lazy_mode=False)`
    adam() -> Adam {
        /// How much of the mean of gradients stays.
        beta1: f64 = 0.9,
        /// How much of the mean of squares stays.
        beta2: f64 = 0.999,
        /// Added to the root of the mean of squares.
        epsilon: f32 = 1e-8,
        /// Rows that have no gradient in a step stay as they are.
        lazy_mode: bool = false,
    }
}

/// The state of Adam and Lamb; Lamb has the powers of 1.8, but does not use or advance them.
pub(super) fn states(beta1: f64, beta2: f64, writes_powers: bool) -> Vec<State> {
    let out = |slot| writes_powers.then_some(slot);
    vec![
        State::like_param("moment1", "Moment1", "Moment1Out"),
        State::like_param("moment2", "Moment2", "Moment2Out"),
        State::one("beta1_pow_acc", "Beta1Pow", out("Beta1PowOut"), beta1),
        State::one("beta2_pow_acc", "Beta2Pow", out("Beta2PowOut"), beta2),
    ]
}

declare! {
    /// Adam: ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g``, and
    /// ``p -= rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * m / (sqrt(v) + epsilon)``.
    ///
    /// Args:
    ///     beta1 (float): how much of the mean of gradients stays from step to step.
    ///     beta2 (float): how much of the mean of squared gradients stays.
    ///     epsilon (float): keeps the division finite.
    ///     lazy_mode (bool): of an embedding with ``is_sparse=True``, update only the rows of the gradient; otherwise the means of all rows
    ///         decay, and all rows move.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Adam(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    adam: "AdamOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, \
     regularization=None, grad_clip=None, name=None, lazy_mode=False)"
        => |a| Adam { beta1: a.f64("beta1")?, beta2: a.f64("beta2")?, epsilon: a.f32("epsilon")?, lazy_mode: a.bool("lazy_mode")? }
}

impl Rule for Adam {
    fn op_type(&self) -> &'static str {
        "adam"
    }

    fn states(&self) -> Vec<State> {
        states(self.beta1, self.beta2, true)
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("beta1", (self.beta1 as f32).into()),
            ("beta2", (self.beta2 as f32).into()),
            ("epsilon", self.epsilon.into()),
            ("lazy_mode", self.lazy_mode.into()),
            // A hint to 1.8: from how many rows on to use threads.
            ("min_row_size_to_use_multithread", 1000i64.into()),
        ]
    }
}
