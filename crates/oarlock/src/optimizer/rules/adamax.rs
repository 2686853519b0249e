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
