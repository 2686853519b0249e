//! LARS: momentum with a rate for each parameter.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `LarsMomentum(learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, ...)`: a rate for each parameter, by the
    /// sizes of weights and gradients.
    lars_momentum(momentum: f32) -> LarsMomentum {
        /// How much a parameter may move, relative to its size.
        lars_coeff: f32 = 0.001,
        /// Weight decay.
        lars_weight_decay: f32 = 0.0005,
    }
}

declare! {
    /// LARS: momentum with a rate for each parameter, by the norms of its weights and gradients.
    ///
    /// Args:
    ///     momentum (float): how much of the velocity stays from step to step.
    ///     lars_coeff (float): the trust in the ratio of norms.
    ///     lars_weight_decay (float): weight decay, part of the ratio.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.LarsMomentum(0.001, 0.9).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    lars_momentum: "LarsMomentumOptimizer(learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, \
     parameter_list=None, regularization=None, grad_clip=None, name=None)"
        => |a| LarsMomentum { momentum: a.f32("momentum")?, lars_coeff: a.f32("lars_coeff")?, lars_weight_decay: a.f32("lars_weight_decay")? }
}

impl Rule for LarsMomentum {
    fn op_type(&self) -> &'static str {
        "lars_momentum"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("velocity", "Velocity", "VelocityOut")]
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("mu", self.momentum.into()),
            ("lars_coeff", self.lars_coeff.into()),
            ("lars_weight_decay", self.lars_weight_decay.into()),
        ]
    }
}
