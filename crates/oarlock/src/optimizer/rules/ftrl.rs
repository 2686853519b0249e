//! Follow the regularised leader.

use oarlock_ir::Attr;

use crate::optimizer::{Rule, State};

rule! {
    /// `Ftrl(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, ...)`
    ///
    /// Fluid 1.8 passed `l1` where `l2` belongs; here `l2` is `l2`.
    ftrl() -> Ftrl {
        /// Pulls weights to exactly zero.
        l1: f32 = 0.0,
        /// Pulls weights towards zero.
        l2: f32 = 0.0,
        /// The power of the sum of squares by which the rate falls.
        lr_power: f32 = -0.5,
    }
}

declare! {
    /// FTRL (follow the regularized leader): exact zeros for weights that hardly matter, as click models want them.
    ///
    /// Args:
    ///     l1 (float): the L1 penalty; larger: more zeros.
    ///     l2 (float): the L2 penalty.
    ///     lr_power (float): the exponent of the accumulated squares in the rate.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Ftrl(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    ftrl: "FtrlOptimizer(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None, regularization=None, \
     grad_clip=None, name=None)"
        => |a| Ftrl { l1: a.f32("l1")?, l2: a.f32("l2")?, lr_power: a.f32("lr_power")? }
}

impl Rule for Ftrl {
    fn op_type(&self) -> &'static str {
        "ftrl"
    }

    fn states(&self) -> Vec<State> {
        vec![
            State::like_param("squared", "SquaredAccumulator", "SquaredAccumOut"),
            State::like_param("linear", "LinearAccumulator", "LinearAccumOut"),
        ]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("l1", self.l1.into()), ("l2", self.l2.into()), ("lr_power", self.lr_power.into())]
    }
}
