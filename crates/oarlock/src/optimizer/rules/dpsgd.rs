//! Differentially private gradient descent.

use oarlock_ir::Attr;

use crate::optimizer::Rule;

rule! {
    /// `Dpsgd(learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-08)`: SGD on limited gradients with noise.
    dpsgd() -> Dpsgd {
        /// Largest norm of a gradient.
        clip: f32 = 0.9,
        /// Examples over which the noise is spread.
        batch_size: f32 = 0.999,
        /// Standard deviation of the noise, relative to `clip`.
        sigma: f32 = 1e-8,
        /// The same noise in every run; 0 for random.
        seed: i32 = 0,
    }
}

declare! {
    /// Differentially private gradient descent: gradients are clipped, and noise is added.
    ///
    /// Args:
    ///     clip (float): the largest norm of a gradient.
    ///     batch_size (float): divides the noise.
    ///     sigma (float): the standard deviation of the noise.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.Dpsgd(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    dpsgd: "DpsgdOptimizer(learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-08, parameter_list=None)"
        => |a| Dpsgd { clip: a.f32("clip")?, batch_size: a.f32("batch_size")?, sigma: a.f32("sigma")?, seed: 0 }
}

impl Rule for Dpsgd {
    fn op_type(&self) -> &'static str {
        "dpsgd"
    }

    fn takes_rows(&self) -> bool {
        false
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![
            ("clip", self.clip.into()),
            ("batch_size", self.batch_size.into()),
            ("sigma", self.sigma.into()),
            ("seed", self.seed.into()),
        ]
    }
}
