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
