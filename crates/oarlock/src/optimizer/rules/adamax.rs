//! Adamax: Adam with the largest gradient instead of a mean of squares.

use oarlock_ir::Attr;

use crate::optimizer::{Advance, Rule, State};

rule! {
    /// `Adamax(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, ...)`
    adamax() -> Adamax {
        /// How much of the mean of gradients stays.
        beta1: f64 = 0.9,
        /// How much of the largest gradient stays.
        beta2: f32 = 0.999,
        /// Added to the largest gradient.
        epsilon: f32 = 1e-8,
    }
}

declare! {
    /// Adamax: Adam with the infinity norm of gradients in place of the mean of squares. ``m = beta1 * m + (1 - beta1) * g``,
    /// ``n = max(abs(g), beta2 * n + epsilon)``, ``p -= rate / (1 - beta1 ** t) * m / n``.
    ///
    /// Args:
    ///     beta1 (float): how much of the mean of gradients stays from step to step.
    ///     beta2 (float): how much of the norm stays.
    ///     epsilon (float): keeps the division finite.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Adamax(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    adamax: "AdamaxOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, \
     regularization=None, grad_clip=None, name=None)"
        => |a| Adamax { beta1: a.f64("beta1")?, beta2: a.f32("beta2")?, epsilon: a.f32("epsilon")? }
}

impl Rule for Adamax {
    fn op_type(&self) -> &'static str {
        "adamax"
    }

    fn states(&self) -> Vec<State> {
        vec![
            State::like_param("moment", "Moment", "MomentOut"),
            State::like_param("inf_norm", "InfNorm", "InfNormOut"),
            State::one("beta1_pow_acc", "Beta1Pow", None, self.beta1),
        ]
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        let beta1 = self.beta1 as f32;
        vec![("beta1", beta1.into()), ("beta2", self.beta2.into()), ("epsilon", self.epsilon.into())]
    }

    // The scope is spelt as in programs of 1.8.
    fn advance(&self) -> Option<Advance> {
        Some(Advance { kind: "beta1_pow_acc", factor: self.beta1, scope: "adamx" })
    }
}
