//! Lamb: Adam with a step as long as the parameter is large.

use oarlock_ir::Attr;

use super::adam::states;
use crate::lr::LearningRate;
use crate::optimizer::{Optimizer, Rule, State};

/// Decides by its name whether a parameter is left alone.
type Exclude = dyn Fn(&str) -> bool + Send + Sync;

/// `Lamb(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, ...,
/// exclude_from_weight_decay_fn=None, name=None)`
pub struct Lamb {
    /// Weight decay.
    pub weight_decay: f32,
    /// How much of the mean of gradients stays.
    pub beta1: f64,
    /// How much of the mean of squares stays.
    pub beta2: f64,
    /// Added to the root of the mean of squares.
    pub epsilon: f32,
    /// Parameters of which it is true do not decay.
    exclude: Option<Box<Exclude>>,
}

/// `Lamb(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, ...)`
pub fn lamb(learning_rate: impl Into<LearningRate>) -> Optimizer<Lamb> {
    let rule = Lamb { weight_decay: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-6, exclude: None };
    Optimizer::new(rule, learning_rate)
}

impl Optimizer<Lamb> {
    /// Weight decay.
    #[must_use]
    pub fn lamb_weight_decay(mut self, decay: f32) -> Self {
        self.rule.weight_decay = decay;
        self
    }

    /// How much of both means stays.
    #[must_use]
    pub fn betas(mut self, beta1: f64, beta2: f64) -> Self {
        (self.rule.beta1, self.rule.beta2) = (beta1, beta2);
        self
    }

    /// Added to the root of the mean of squares.
    #[must_use]
    pub fn epsilon(mut self, epsilon: f32) -> Self {
        self.rule.epsilon = epsilon;
        self
    }

    /// Parameters of which `exclude` is true do not decay.
    #[must_use]
    pub fn exclude_from_weight_decay(mut self, exclude: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.rule.exclude = Some(Box::new(exclude));
        self
    }
}

declare! {
    /// LAMB: Adam whose step is relative to the norm of the parameter, for large batches.
    ///
    /// Args:
    ///     lamb_weight_decay (float): weight decay, part of the step.
    ///     beta1 (float): how much of the mean of gradients stays from step to step.
    ///     beta2 (float): how much of the mean of squared gradients stays.
    ///     epsilon (float): keeps the division finite.
    ///     exclude_from_weight_decay_fn (callable): takes a parameter and returns whether it does not decay.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Lamb(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    lamb: "LambOptimizer(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, \
     parameter_list=None, regularization=None, grad_clip=None, exclude_from_weight_decay_fn=None, name=None)"
        => |a| Lamb {
        weight_decay: a.f32("lamb_weight_decay")?,
        beta1: a.f64("beta1")?,
        beta2: a.f64("beta2")?,
        epsilon: a.f32("epsilon")?,
        exclude: a.opt_predicate("exclude_from_weight_decay_fn")?.map(|p| -> Box<Exclude> { Box::new(move |name| (p.0)(name)) }),
    }
}

impl Rule for Lamb {
    fn op_type(&self) -> &'static str {
        "lamb"
    }

    fn states(&self) -> Vec<State> {
        states(self.beta1, self.beta2, false)
    }

    fn trains_rows_alone(&self) -> bool {
        false
    }

    fn attrs(&self, param: &str) -> Vec<(&'static str, Attr)> {
        let excluded = self.exclude.as_ref().is_some_and(|exclude| exclude(param));
        vec![
            ("beta1", (self.beta1 as f32).into()),
            ("beta2", (self.beta2 as f32).into()),
            ("epsilon", self.epsilon.into()),
            ("weight_decay", if excluded { 0.0 } else { self.weight_decay }.into()),
        ]
    }
}
